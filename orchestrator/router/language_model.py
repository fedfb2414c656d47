"""A causal language model as router: a few labelled examples, then the question; its JSON is checked, and asked again.

The served model is called by the tensors of TensorRT-LLM's ``llmapi``, so the same prompt works with Phi-3-mini on a
GPU, few-shot or fine-tuned and merged, and with any small model on CPU. A grammar goes along for servers that take one.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.domain.lexicon import SlotMatcher, fold
from orchestrator.domain.pack import DomainPack
from orchestrator.errors import ModelError
from orchestrator.inference.deadline import Deadline
from orchestrator.inference.generator import Generation
from orchestrator.inference.models import Classification, QuestionReading, SlotSpan

__all__ = ["Generator", "LanguageModelClassifier"]

# A prompt of some 600 tokens: what a small model reads in tens of milliseconds on a GPU.
SHOTS = 6
CANDIDATES = 10
MAX_QUESTION_CHARS = 300
MAX_ANSWER_TOKENS = 160
# The first answer and one more: a model that errs twice will err a third time.
ATTEMPTS = 2
# A language model states no chance that can be used; so much goes to the intent that it names, less where it had to be
# asked again.
NAMED_SHARE = (0.85, 0.7)
SPAN_CONFIDENCE = 0.8
MAX_SLOTS = 8
MAX_SLOT_CHARS = 30

# llmapi applies no chat template: the caller does.
TEMPLATES = {"none": "{}", "phi3": "<|user|>\n{}<|end|>\n<|assistant|>\n"}
HEAD = "把问题归入一个意图，并抄出问题中的条件。只输出一行 JSON，不要解释。"
AGAIN = "上一个回答不合要求（{}）。请重新输出一行 JSON。"


class Generator(Protocol):
    """Completions, as `orchestrator.inference.generator.TritonGenerator` gives them."""

    async def generate(
        self, prompt: str, *, max_tokens: int, grammar: str = "", timeout_s: float | None = None
    ) -> Generation:
        """Complete ``prompt``."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Slot(_Part):
    slot_type: str = Field(alias="type")
    text: str = Field(min_length=1, max_length=MAX_SLOT_CHARS)


class _Answer(_Part):
    """What the model must write."""

    intent: str
    slots: tuple[_Slot, ...] = Field(max_length=MAX_SLOTS, strict=False)


@dataclass(frozen=True, slots=True)
class _Example:
    question: str
    answer: str
    intent_id: str
    grams: Counter[str]


class LanguageModelClassifier:
    """Implements `orchestrator.inference.models.Classifier` for one pack.

    Shots are the pack's labelled examples that share most with the question, each intent among them once or twice; what
    they are labelled with are the candidates.

    Args:
        pack: whose intents and slots are read.
        generator: completes prompts.
        timeout_s: of a question, all attempts together, where the caller names none.
        chat_template: "none" for a base model, "phi3" for Phi-3's instruction-tuned ones.
    """

    def __init__(
        self, pack: DomainPack, generator: Generator, *, timeout_s: float, chat_template: str = "none"
    ) -> None:
        self._template = TEMPLATES[chat_template]
        self._pack = pack
        self._generator = generator
        self._timeout_s = timeout_s
        find = SlotMatcher(pack).find
        self._intents = tuple(intent_id for intent_id, path in pack.intent_paths.items() if not path[-1].children)
        self._examples = [
            _Example(example.question, _written(intent_id, find(example.question)), intent_id, _grams(example.question))
            for intent_id in self._intents
            for example in pack.intent_paths[intent_id][-1].examples
        ]

    async def classify(self, texts: Sequence[str], *, timeout_s: float | None = None) -> Classification:
        """See `orchestrator.inference.models.Classifier.classify`; one text after the other.

        Raises:
            ModelError: the model wrote nothing valid in any attempt.
        """
        deadline = Deadline.after(self._timeout_s if timeout_s is None else timeout_s)
        readings: list[QuestionReading] = []
        fingerprint, waited_ms = "", 0.0
        for text in texts:
            reading, generation, spent_ms = await self._read(text, deadline)
            if fingerprint not in ("", generation.fingerprint):
                # Readings of one call are of one version.
                return await self.classify(texts, timeout_s=deadline.remaining_s)
            fingerprint, waited_ms = generation.fingerprint, waited_ms + spent_ms
            readings.append(reading)
        return Classification(self._intents, tuple(readings), fingerprint, waited_ms)

    async def _read(self, text: str, deadline: Deadline) -> tuple[QuestionReading, Generation, float]:
        text = text[:MAX_QUESTION_CHARS]
        shots = self._shots(text)
        candidates = list(dict.fromkeys(shot.intent_id for shot in shots))[:CANDIDATES]
        prompt = self._prompt(text, candidates, shots[:SHOTS])
        complaint, waited_ms = "", 0.0
        for attempt in range(ATTEMPTS):
            asked = prompt if not complaint else f"{AGAIN.format(complaint)}\n{prompt}"
            generation = await self._generator.generate(
                # Not `format`: the prompt holds braces of its own.
                self._template.replace("{}", asked),
                max_tokens=MAX_ANSWER_TOKENS,
                grammar=self._grammar(candidates),
                timeout_s=deadline.remaining_s,
            )
            waited_ms += generation.model_ms
            answer, complaint = self._parsed(generation.text, text, strict=attempt + 1 < ATTEMPTS)
            if answer is not None:
                return self._reading(answer, text, NAMED_SHARE[attempt]), generation, waited_ms
        raise ModelError(f"The router's language model wrote no valid answer in {ATTEMPTS} attempts: {complaint}.")

    def _shots(self, text: str) -> list[_Example]:
        """Examples, those most like ``text`` first, at most two of an intent; never the text itself."""
        grams = _grams(text)
        ranked = sorted(
            (example for example in self._examples if example.question != text),
            key=lambda example: -_dice(grams, example.grams),
        )
        counts: Counter[str] = Counter()
        chosen = []
        for example in ranked:
            counts[example.intent_id] += 1
            if counts[example.intent_id] <= 2:
                chosen.append(example)
            if len(counts) > CANDIDATES:
                break
        return chosen

    def _prompt(self, text: str, candidates: Sequence[str], shots: Sequence[_Example]) -> str:
        intents = "\n".join(f"{intent_id}：{'、'.join(self._pack.labels(intent_id))}" for intent_id in candidates)
        types = "，".join(f"{name}（{slot.label}）" for name, slot in self._pack.slot_types.items())
        # The example that is most like the question stands last: closest to where the model goes on.
        shown = "\n".join(f"问题：{shot.question}\n答案：{shot.answer}" for shot in reversed(shots))
        # A question can neither begin a line of its own nor spell a chat template's marks.
        one_line = " ".join(text.split()).replace("<|", "< |")
        return f"{HEAD}\n意图：\n{intents}\n条件：{types}\n{shown}\n问题：{one_line}\n答案："

    def _grammar(self, candidates: Sequence[str]) -> str:
        intents = " | ".join(json.dumps(json.dumps(intent_id)) for intent_id in candidates)
        types = " | ".join(json.dumps(json.dumps(name)) for name in self._pack.slot_types)
        return (
            'start: "{\\"intent\\": " intent ", \\"slots\\": [" (slot (", " slot)*)? "]}"\n'
            f"intent: {intents}\n"
            'slot: "{\\"type\\": " type ", \\"text\\": \\"" TEXT "\\"}"\n'
            f"type: {types}\n"
            f'TEXT: /[^"\\\\\\n]{{1,{MAX_SLOT_CHARS}}}/\n'
        )

    def _parsed(self, written: str, text: str, *, strict: bool) -> tuple[_Answer | None, str]:
        """The first JSON object of what the model wrote, checked; or what is wrong with it, in the prompt's words.

        Unless ``strict``, slots that the question does not hold are left out: the intent stands without them.
        """
        try:
            start = written.index("{")
            answer = _Answer.model_validate(json.JSONDecoder().raw_decode(written, start)[0])
        except ValidationError as error:
            return None, f"字段 {'.'.join(str(part) for part in error.errors()[0]['loc'])} 有误"
        except (ValueError, RecursionError):
            return None, "没有完整的 JSON"
        if not strict:
            known = tuple(
                slot for slot in answer.slots if slot.slot_type in self._pack.slot_types and slot.text in text
            )
            answer = answer.model_copy(update={"slots": known})
        complaint = self._complaint(answer, text)
        return (None, complaint) if complaint else (answer, "")

    def _complaint(self, answer: _Answer, text: str) -> str:
        if answer.intent not in self._intents:
            return "意图不在列表中"
        if any(slot.slot_type not in self._pack.slot_types for slot in answer.slots):
            return "条件类型不在列表中"
        if any(slot.text not in text for slot in answer.slots):
            return "条件不是问题中的原文"
        return ""

    def _reading(self, answer: _Answer, text: str, share: float) -> QuestionReading:
        shares = np.full(len(self._intents), (1 - share) / max(len(self._intents) - 1, 1))
        shares[self._intents.index(answer.intent)] = share
        spans: list[SlotSpan] = []
        taken: set[int] = set()
        for slot in answer.slots:
            for match in re.finditer(re.escape(slot.text), text):
                if not taken & set(range(*match.span())):
                    taken.update(range(*match.span()))
                    spans.append(SlotSpan(slot.slot_type, *match.span(), SPAN_CONFIDENCE))
                    break
        return QuestionReading(shares / shares.sum(), tuple(sorted(spans, key=lambda span: span.start)))


def _written(intent_id: str, slots: Sequence[Any]) -> str:
    """A label as the model shall write it."""
    tree = {"intent": intent_id, "slots": [{"type": slot.slot_type, "text": slot.text} for slot in slots[:MAX_SLOTS]]}
    return json.dumps(tree, ensure_ascii=False)


def _grams(text: str) -> Counter[str]:
    letters = [char for char in fold(text) if char.isalnum()]
    return Counter(letters) + Counter(first + second for first, second in itertools.pairwise(letters))


def _dice(one: Counter[str], other: Counter[str]) -> float:
    return 2 * (one & other).total() / max(one.total() + other.total(), 1)
