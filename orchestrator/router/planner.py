"""Everything the router knows of one pack, and how it makes a plan of a question. No awaits: pure computation."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from orchestrator.domain.lexicon import SlotMatch
from orchestrator.domain.pack import DomainPack
from orchestrator.domain.schema import FaqEntry
from orchestrator.inference.models import Classification, Embedding, SlotSpan
from orchestrator.router.clarify import ask_intent, ask_slots, is_vague, points_outside
from orchestrator.router.cost import cheapest, estimate
from orchestrator.router.faq import FaqMatcher
from orchestrator.router.intent import IntentClassifier, IntentGuess, IntentReading
from orchestrator.router.mentions import Mention, TimeReading, find_mentions, read_time, title_within
from orchestrator.router.normalise import Normalised, Normaliser, clean
from orchestrator.router.question_type import QuestionTyper
from orchestrator.router.questions import QuestionSplitter
from orchestrator.router.slots import SlotReader, missing_slots, slot_messages
from orchestrator.router.vote import Shares
from orchestrator.settings import RouterSettings
from trias.v1 import plan_pb2

__all__ = ["ModelReading", "PackPlanner", "Question", "Titles", "WordReading"]

_END_MARKS = "？?。！!；; "

Titles = Sequence[tuple[str, str]]
Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Question:
    """A request, read.

    Attributes:
        asked: as it came.
        cleaned: in one line, nothing rewritten.
        normalised: in the wording of documents.
        today: what "now" means: the request's as-of date, else the calendar's.
        as_of_date: of the request; empty where it names none.
        hint: what to look at again.
    """

    asked: str
    cleaned: str
    normalised: Normalised
    today: dt.date
    as_of_date: str
    hint: str

    @property
    def text(self) -> str:
        """The normalised text."""
        return self.normalised.text

    @property
    def compared(self) -> str:
        """What is compared with rules and examples. Without a hint, the very text that the retriever embeds again."""
        return f"{self.text} {self.hint}" if self.hint else self.text


@dataclass(frozen=True, slots=True)
class WordReading:
    """What a question's words say by themselves, before any model or index has answered.

    Attributes:
        slots: those of the lexicon.
        rules: shares of the pack's leaves; all zero where no rule applies.
        time: as-of date and version.
        parts: the questions it consists of.
    """

    slots: tuple[SlotMatch, ...]
    rules: Shares
    time: TimeReading
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelReading:
    """What the pack's model says about a question: shares of the pack's leaves, and slots of the normalised text."""

    shares: Shares
    spans: tuple[SlotSpan, ...]


class PackPlanner:
    """One pack, compiled: rules, lexicon and, once `learn` was called, its examples.

    Attributes:
        teaching: the texts whose vectors `learn` wants, in order.
        slots: reads the slots of a text.
        examples: the first of the texts to learn, whose readings `learn_model` wants.
        model_fingerprint: of the model whose readings were offered last; empty before.
    """

    def __init__(self, pack: DomainPack, settings: RouterSettings) -> None:
        self.pack = pack
        self._settings = settings
        self._normaliser = Normaliser(pack)
        self.slots = SlotReader(pack)
        self._find_slots = self.slots.find
        self._typer = QuestionTyper(pack)
        self._splitter = QuestionSplitter(pack, self._find_slots, settings.max_sub_questions)
        self._intents = IntentClassifier(pack, settings.example_neighbours)
        self._faq = FaqMatcher(pack, self._worded, self._find_slots)
        self.examples: tuple[str, ...] = tuple(self._worded(text) for _, text in self._intents.examples)
        self._intents.calibrate_rules(self.examples)
        self.teaching: tuple[str, ...] = (*self.examples, *self._faq.questions)
        self.model_fingerprint = ""
        self._model_order: npt.NDArray[np.intp] | None = None

    @property
    def leaves(self) -> tuple[str, ...]:
        """Ids of the intents that a vote has shares for, in order."""
        return self._intents.leaves

    @property
    def fingerprint(self) -> str:
        """Of the embedder whose vectors were learnt; empty before."""
        return self._intents.bank.fingerprint if self._intents.bank else ""

    def learn(self, batches: Sequence[Embedding]) -> None:
        """Take the vectors of `teaching`, in batches of one model, in order."""
        vectors = np.concatenate([batch.vectors for batch in batches])
        count = len(self.examples)
        self._faq.learn(vectors[count:])
        self._intents.learn(vectors[:count], batches[0].fingerprint)

    def read_by_model(self) -> tuple[int, ...]:
        """Places of the examples that a model shall read: all, or as many as the settings allow, spread evenly."""
        count = min(len(self.examples), self._settings.model_examples)
        return tuple(place * len(self.examples) // count for place in range(count))

    def learn_model(self, batches: Sequence[Classification]) -> None:
        """Take a model's readings of the examples at `read_by_model`, in batches of one version, in order.

        A model that knows other intents than the pack's has no say here.
        """
        self.model_fingerprint = batches[0].fingerprint
        places = {intent_id: place for place, intent_id in enumerate(self._intents.leaves)}
        if not batches[0].intents or not places.keys() >= set(batches[0].intents):
            self._model_order = None
            self._intents.forget_model()
            return
        self._model_order = np.array([places[intent_id] for intent_id in batches[0].intents])
        readings = (reading for batch in batches for reading in batch.readings)
        self._intents.learn_model(
            {
                place: self._leaf_shares(reading.shares)
                for place, reading in zip(self.read_by_model(), readings, strict=True)
            }
        )

    def model_reading(self, classification: Classification | None, question: Question) -> ModelReading | None:
        """What the model says of a question, if it is the model that was learnt, and of this pack."""
        if classification is None or self._model_order is None or classification.fingerprint != self.model_fingerprint:
            return None
        (reading,) = classification.readings
        # A hint stands behind the text: what is found in it is no slot of the question.
        spans = tuple(span for span in reading.spans if span.end <= len(question.text))
        return ModelReading(self._leaf_shares(reading.shares), spans)

    def _leaf_shares(self, shares: Shares) -> Shares:
        assert self._model_order is not None
        found = np.zeros(len(self._intents.leaves))
        found[self._model_order] = shares
        return found

    def read(self, asked: str, *, rewrite: bool, today: dt.date, as_of_date: str, hint: str) -> Question:
        """Clean and normalise a question."""
        cleaned = clean(asked)
        normalised = self._normaliser.rewrite(cleaned) if rewrite else Normalised(cleaned)
        return Question(asked, cleaned, normalised, today, as_of_date, clean(hint))

    def read_words(self, question: Question) -> WordReading:
        """Work out what needs neither model nor index: it can be done while those are asked."""
        return WordReading(
            tuple(self._find_slots(question.text)),
            self._intents.by_rules(question.compared),
            read_time(question.text, question.today),
            tuple(self._splitter.split(question.text)),
        )

    def plan(
        self,
        plan_id: str,
        question: Question,
        vector: Vector | None,
        titles: Titles,
        marked: Mapping[str, Titles],
        *,
        words: WordReading | None = None,
        model: ModelReading | None = None,
    ) -> plan_pb2.Plan:
        """Make the plan.

        Args:
            plan_id: its id.
            question: as `read` returned it.
            vector: of ``question.compared``, L2-normalised, by the embedder that was learnt; None where there is none.
            titles: (document id, title) of the library's documents that may be named in the question.
            marked: the same for each title in 《》.
            words: what `read_words` returned, where that was called already.
            model: what `model_reading` returned.
        """
        text = question.text
        words = words or self.read_words(question)
        slots = self.slots.complete(words.slots, text, model.spans if model else ())
        mentions = _mentions(question, titles, marked)
        reading = self.vote(words, vector, model)
        time = words.time
        parts = self._sub_questions(words.parts, reading, slots)
        plan = plan_pb2.Plan(
            plan_id=plan_id,
            question=question.asked,
            normalized_question=text,
            rewrites=[
                plan_pb2.Rewrite(before=item.before, after=item.after, decided_by="pack")
                for item in question.normalised.replacements
            ],
            domain=self.pack.name,
            slots=slot_messages(slots),
            question_type=self._typer.classify(text, self._type_hint(reading)),
            sub_questions=parts,
            named_documents=mentions,
            version_preference=time.preference,
            version_label=time.version_label,
            as_of_date=question.as_of_date or time.as_of_date,
            estimates=estimate(len(text), max(len(parts), 1)),
        )
        small_talk = self._small_talk(plan, reading)
        if small_talk is None:
            self._decide_intent(plan, text, slots, reading)
        else:
            plan.intent.CopyFrom(self._intent(small_talk))
            plan.confidence = small_talk.confidence
        self._decide_strategy(plan, question, vector, is_small_talk=small_talk is not None)
        return plan

    def vote(self, words: WordReading, vector: Vector | None, model: ModelReading | None) -> IntentReading:
        """What rules, examples and model come to on the intent; arguments as in `plan`."""
        return self._intents.read(words.rules, vector, model.shares if model else None)

    def faq_entry(self, question: Question, vector: Vector | None, slots: Sequence[plan_pb2.Slot]) -> FaqEntry | None:
        """The FAQ entry that asks the same under the same conditions."""
        conditions = [(slot.type, slot.value) for slot in slots]
        return self._faq.find(question.compared, vector, self._intents.bank, conditions)

    def _worded(self, text: str) -> str:
        return self._normaliser.rewrite(clean(text)).text.rstrip(_END_MARKS)

    def _type_hint(self, reading: IntentReading) -> str:
        return self.pack.intent_paths[reading.best.intent_id][-1].question_type if reading.best else ""

    def _sub_questions(
        self, parts: Sequence[str], reading: IntentReading, slots: Sequence[SlotMatch]
    ) -> list[plan_pb2.SubQuestion]:
        if len(parts) < 2:
            return []
        hint = self._type_hint(reading)
        return [
            plan_pb2.SubQuestion(
                sub_question_id=f"q{number}",
                text=part,
                slots=slot_messages(self._part_slots(part, slots)),
                question_type=self._typer.classify(part, hint),
            )
            for number, part in enumerate(parts, start=1)
        ]

    def _part_slots(self, part: str, slots: Sequence[SlotMatch]) -> list[SlotMatch]:
        """The slots of a part: what the lexicon finds in it, and what the model found there in the whole."""
        found = self._find_slots(part)
        taken = {place for match in found for place in range(match.start, match.end)}
        for match in slots:
            start = part.find(match.text) if match.decided_by == "model" else -1
            if start >= 0 and not taken & set(range(start, start + len(match.text))):
                found.append(replace(match, start=start, end=start + len(match.text)))
        return sorted(found, key=lambda match: (match.start, match.slot_type))

    def _decide_intent(
        self, plan: plan_pb2.Plan, text: str, slots: Sequence[SlotMatch], reading: IntentReading
    ) -> None:
        best = reading.best or IntentGuess("", 0.0, "default")
        plan.alternatives.extend(self._intent(guess) for guess in reading.alternatives)
        chosen = best
        # Named things give a search something to hold on to, however open the intent is.
        vague = is_vague(text) and not plan.named_documents
        names_clause = any(mention.clause_label for mention in plan.named_documents)
        if vague or (best.confidence < self._settings.clarify_below and not names_clause):
            chosen = best if vague or reading.broader is None else reading.broader
            offered = [guess.intent_id for guess in (best, *reading.alternatives) if guess.intent_id]
            plan.clarifications.append(ask_intent(self.pack, offered, required=vague))
            plan.queued_for_labelling = True
        elif best.intent_id:
            required = self.pack.intent_paths[best.intent_id][-1].requires
            open_slots = missing_slots(required, slots)
            guess_without = points_outside(text) and not plan.named_documents
            plan.clarifications.extend(ask_slots(self.pack, open_slots, required=guess_without))
        plan.intent.CopyFrom(self._intent(chosen))
        plan.confidence = chosen.confidence

    def _intent(self, guess: IntentGuess) -> plan_pb2.Intent:
        return plan_pb2.Intent(
            path=self.pack.labels(guess.intent_id) if guess.intent_id else (),
            intent_id=guess.intent_id,
            confidence=guess.confidence,
            decided_by=guess.decided_by,
        )

    def _decide_strategy(
        self, plan: plan_pb2.Plan, question: Question, vector: Vector | None, *, is_small_talk: bool
    ) -> None:
        admissible = {plan_pb2.STRATEGY_FULL}
        if is_small_talk:
            admissible.add(plan_pb2.STRATEGY_NO_RETRIEVAL)
        elif not (plan.sub_questions or plan.named_documents or plan.as_of_date) and self.faq_entry(
            question, vector, plan.slots
        ):
            admissible.add(plan_pb2.STRATEGY_FAQ)
        plan.strategy = cheapest(plan.estimates, admissible)

    def _small_talk(self, plan: plan_pb2.Plan, reading: IntentReading) -> IntentGuess | None:
        """The intent of small talk, where a rule knows it for that.

        Examples alone are not enough: to them, a question from another field looks like small talk.
        """
        guess = reading.by_rules
        if guess and not self.pack.intent_paths[guess.intent_id][-1].retrieval and not plan.slots:
            return guess
        if any(pattern.search(plan.normalized_question) for pattern in self.pack.small_talk):
            return reading.best or IntentGuess("", 1.0, "default")
        return None


def _mentions(question: Question, titles: Titles, marked: Mapping[str, Titles]) -> list[plan_pb2.DocumentMention]:
    named: dict[str, list[str]] = {}
    for document_id, title in titles:
        name = title_within(title, question.cleaned)
        if name:
            named.setdefault(name, []).append(document_id)
    found = find_mentions(question.text, list(named))
    # A title that rewriting changed still counts.
    found += [Mention(name, 0, 0) for name in named if name not in question.text and name not in marked]
    for name, documents in marked.items():
        named[name] = list(dict.fromkeys(document_id for document_id, _ in documents))
    return [
        plan_pb2.DocumentMention(
            text=mention.title, clause_label=mention.label, document_ids=named.get(mention.title, [])
        )
        for mention in found
    ]
