"""The quality gate: a new version against the live one on a golden set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from export.golden import Golden, LabelledText, RetrievalSet, RoutingSet
from export.runs import Outputs, Rows, encode, onnx_outputs
from export.spec import EmbedderSpec, ModelSpec, RerankerSpec, RouterSpec
from export.version import labels_of, tokenizer_of
from orchestrator.errors import ConfigurationError, GateError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["Run", "check_quality", "measure", "run_graph"]

Run = Callable[[Path, Rows, Mapping[str, str]], Outputs]  # the last: what an output is → its tensor's name
MODEL = "model.onnx"
CUTOFF = 10
# A reranker is given a question's right passages and those that share most pairs of characters with it: what a search
# would hand to it.
CANDIDATES = 10
DECIMALS = 4


def run_graph(folder: Path, rows: Rows, outputs: Mapping[str, str]) -> Outputs:
    """Run a version's graph in this process."""
    return onnx_outputs(folder / MODEL, rows, outputs)


def measure(spec: ModelSpec, folder: Path, golden: Golden, *, run: Run = run_graph) -> dict[str, float]:
    """What a version scores on a golden set; each metric in [0,1], more is better.

    Args:
        spec: of the model.
        folder: the version's.
        golden: a set for this kind of model.
        run: gives the outputs of token ids; by default the version's graph in this process.
    """
    if isinstance(spec, EmbedderSpec) and isinstance(golden, RetrievalSet):
        return _ranking(_scores_of_vectors(spec, folder, golden, run))
    if isinstance(spec, RerankerSpec) and isinstance(golden, RetrievalSet):
        return _ranking(_scores_of_pairs(spec, folder, golden, run))
    if isinstance(spec, RouterSpec) and isinstance(golden, RoutingSet):
        return _routing(spec, folder, golden, run)
    raise ConfigurationError(f"The golden set {golden.name} is not one for model {spec.model}.")


def check_quality(
    spec: ModelSpec, candidate: Mapping[str, float], live: Mapping[str, float] | None, *, against: str
) -> dict[str, float]:
    """The candidate's figures by the names of their gates, if none is worse than the live version's by too much.

    Args:
        spec: its ``quality`` says how much each metric may lose.
        candidate: as `measure` gives them.
        live: the same of the live version; None where there is none, and nothing to be worse than.
        against: what the live version is called.

    Raises:
        GateError: a metric fell too far; names it and tells by how much.
        ConfigurationError: the spec names a metric that this kind of model has not.
    """
    unknown = sorted(spec.quality.keys() - candidate.keys())
    if unknown:
        raise ConfigurationError(
            f"The spec of model {spec.model} limits the loss of {', '.join(unknown)}, but measured are "
            f"{', '.join(sorted(candidate))}."
        )
    for metric, loss in spec.quality.items() if live is not None else ():
        least = live[metric] - loss  # type: ignore[index]
        if not candidate[metric] >= least:
            lost = live[metric] - candidate[metric]  # type: ignore[index]
            raise GateError(
                f"quality.{metric}",
                candidate[metric],
                f">= {least:.4f}",
                hint=f"{lost:.4f} less than {against}, where {loss:g} is allowed. Nothing was published; the version "
                "in place stays.",
            )
    return {f"quality.{metric}": figure for metric, figure in candidate.items()}


def _scores_of_vectors(
    spec: EmbedderSpec, folder: Path, golden: RetrievalSet, run: Run
) -> list[tuple[Sequence[float], list[bool]]]:
    tokenizer = tokenizer_of(folder)
    query, passage = spec.prefixes.get("query", ""), spec.prefixes.get("passage", "")
    texts = [query + text for text in golden.texts] + [passage + text for text in golden.passages]
    dense = np.stack(run(folder, encode(tokenizer, texts, spec.max_length), spec.outputs)["dense"])
    questions, passages = dense[: len(golden.questions)], dense[len(golden.questions) :]
    scores = questions @ passages.T
    return [
        (row.tolist(), [place in question.gold for place in range(len(golden.passages))])
        for row, question in zip(scores, golden.questions, strict=True)
    ]


def _scores_of_pairs(
    spec: RerankerSpec, folder: Path, golden: RetrievalSet, run: Run
) -> list[tuple[Sequence[float], list[bool]]]:
    tokenizer = tokenizer_of(folder)
    query, passage = spec.prefixes.get("query", ""), spec.prefixes.get("passage", "")
    chosen = [_candidates(question.text, question.gold, golden.passages) for question in golden.questions]
    pairs = [
        (query + question.text, passage + golden.passages[place])
        for question, places in zip(golden.questions, chosen, strict=True)
        for place in places
    ]
    scores = iter(run(folder, encode(tokenizer, pairs, spec.max_length), spec.outputs)["score"])
    return [
        ([float(next(scores).reshape(-1)[0]) for _ in places], [place in question.gold for place in places])
        for question, places in zip(golden.questions, chosen, strict=True)
    ]


def _candidates(text: str, gold: frozenset[int], passages: Sequence[str]) -> list[int]:
    grams = _grams(text)
    others = [place for place in range(len(passages)) if place not in gold]
    others.sort(key=lambda place: (-len(grams & _grams(passages[place])), place))
    return [*sorted(gold), *others[: max(1, CANDIDATES - len(gold))]]


def _grams(text: str) -> set[str]:
    return {text[start : start + 2] for start in range(len(text) - 1)}


def _ranking(rows: Sequence[tuple[Sequence[float], list[bool]]]) -> dict[str, float]:
    """Recall@10, the share of the right passages among the first ten, and MRR@10, 1 over the rank of the first."""
    recall, reciprocal = [], []
    for scores, right in rows:
        # Of equal scores the right ones come last: a model that scores all alike has found nothing.
        order = sorted(range(len(scores)), key=lambda place: (-scores[place], right[place], place))
        found = [right[place] for place in order[:CUTOFF]]
        recall.append(sum(found) / sum(right))
        reciprocal.append(1 / (found.index(True) + 1) if any(found) else 0.0)
    return {
        f"recall@{CUTOFF}": round(float(np.mean(recall)), DECIMALS),
        f"mrr@{CUTOFF}": round(float(np.mean(reciprocal)), DECIMALS),
    }


def _routing(spec: RouterSpec, folder: Path, golden: RoutingSet, run: Run) -> dict[str, float]:
    """The share of right intents; F1 over slots, right where type, start and end are."""
    tokenizer, labels = tokenizer_of(folder), labels_of(folder)
    prefix = spec.prefixes.get("query", "")
    rows = encode(tokenizer, [prefix + text for text in golden.texts], spec.max_length)
    found = run(folder, rows, spec.outputs)
    right = hits = guessed = wanted = 0
    for row, intent, slots in zip(golden.rows, found["intent"], found["slots"], strict=True):
        right += labels["intents"][int(intent.argmax())] == row.intent
        spans = _spans(tokenizer, row, prefix, [labels["slots"][int(place)] for place in slots.argmax(-1)])
        hits += len(spans & row.slots)
        guessed += len(spans)
        wanted += len(row.slots)
    return {
        "intent_accuracy": round(right / len(golden.rows), DECIMALS),
        "slot_f1": round(2 * hits / (guessed + wanted), DECIMALS) if guessed + wanted else 1.0,
    }


def _spans(tokenizer: Tokenizer, row: LabelledText, prefix: str, tags: Sequence[str]) -> set[tuple[str, int, int]]:
    """The slots that a row's BIO tags mark, with blanks at their ends left out."""
    spans: list[tuple[str, int, int]] = []
    before = "O"
    offsets: Sequence[Any] = tokenizer.encode(prefix + row.text).offsets
    for tag, (start, end) in zip(tags, offsets, strict=False):
        left, right = max(start - len(prefix), 0), end - len(prefix)
        kind = tag[2:]
        if right <= left or tag == "O":
            before = "O"
            continue
        if tag.startswith("I-") and before[2:] == kind and spans:
            spans[-1] = (kind, spans[-1][1], right)
        else:
            spans.append((kind, left, right))
        before = tag
    found = set()
    for kind, start, end in spans:
        text = row.text[start:end]
        found.add((kind, start + len(text) - len(text.lstrip()), start + len(text.rstrip())))
    return found
