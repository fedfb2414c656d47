"""A router over the project's own packs, with a small embedder that needs no model."""

from __future__ import annotations

import asyncio
import datetime as dt
import functools
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from orchestrator.domain.pack import DomainPack, load_packs
from orchestrator.errors import TriasError
from orchestrator.inference.models import Classification, Embedding, QuestionReading, SlotSpan, TextKind
from orchestrator.knowledge.clause import Document
from orchestrator.router.agent import RouterAgent
from orchestrator.router.planner import PackPlanner
from orchestrator.settings import PathSettings, RouterSettings

DIMENSION = 512
TODAY = dt.date(2026, 11, 30)

LIBRARY = {
    "d-employees": "云川省职工基本医疗保险办法",
    "d-residents": "云川省城乡居民基本医疗保险实施办法",
    "d-assist": "云川省医疗救助办法",
    "d-assist-old": "云川省城乡医疗救助暂行办法",
    "d-major": "云川省大病保险实施细则",
    "d-tea": "茶叶包装产品质量国家监督抽查实施细则（2023年版）",
}


@functools.cache
def hashed_vector(text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A text's character uni- and bigrams, hashed into a unit vector: like texts come out near each other."""
    vector = np.full(DIMENSION, 1e-3, dtype=np.float32)
    for size in (1, 2):
        for start in range(len(text) - size + 1):
            vector[zlib.crc32(text[start : start + size].encode()) % DIMENSION] += size
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


@dataclass
class HashedEmbedder:
    """Stands in for the served model in tests of what is built on it."""

    name: str = "hashed-1"
    error: TriasError | None = None
    calls: list[list[str]] = field(default_factory=list)
    takes_s: float = 0.0

    async def embed(self, texts: Sequence[str], *, kind: TextKind, timeout_s: float | None = None) -> Embedding:
        assert kind == "query"
        self.calls.append(list(texts))
        if self.takes_s:
            await asyncio.sleep(self.takes_s)
        if self.error is not None:
            raise self.error
        return Embedding(np.stack([hashed_vector(text) for text in texts]), self.name, 0.5)

    async def fingerprint(self) -> str:
        return self.name


@dataclass
class ExampleClassifier:
    """Stands in for the served model: sure of the intent of which an example shares most bigrams with the text.

    Attributes:
        spans: text → the slots that it sees there.
    """

    examples: list[tuple[str, str]]
    name: str = "model-1"
    error: TriasError | None = None
    spans: dict[str, tuple[SlotSpan, ...]] = field(default_factory=dict)
    calls: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.intents = tuple(sorted({intent_id for _, intent_id in self.examples}))
        self._rows = np.stack([hashed_vector(text) for text, _ in self.examples])

    async def classify(self, texts: Sequence[str], *, timeout_s: float | None = None) -> Classification:
        self.calls.append(list(texts))
        if self.error is not None:
            raise self.error
        readings = tuple(QuestionReading(self._shares(text), self.spans.get(text, ())) for text in texts)
        return Classification(self.intents, readings, self.name, 0.25)

    def _shares(self, text: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        shares = np.full(len(self.intents), 0.1 / len(self.intents))
        nearest = int((self._rows @ hashed_vector(text)).argmax())
        shares[self.intents.index(self.examples[nearest][1])] += 0.9
        return shares


@dataclass
class Queue:
    """Keeps what it is given."""

    entries: list[dict[str, Any]] = field(default_factory=list)

    def add(self, question: str, *, domain: str, reason: str, intent_id: str, confidence: float) -> None:
        self.entries.append(
            {"question": question, "domain": domain, "reason": reason, "intent": intent_id, "confidence": confidence}
        )


async def find_titles(text: str, limit: int) -> list[Document]:
    """As the library's catalogue does: titles that are, contain, or are contained in the text."""
    core = {key: title.split("（")[0] for key, title in LIBRARY.items()}
    hits = [key for key, title in core.items() if title in text or text in title]
    return [Document(key, f"{key}.docx", LIBRARY[key], "0") for key in hits[:limit]]


@pytest.fixture(scope="session")
def packs() -> dict[str, DomainPack]:
    return load_packs(PathSettings().domains)


@pytest.fixture(scope="session")
def medical(packs: dict[str, DomainPack]) -> DomainPack:
    return packs["medical_insurance"]


@pytest.fixture(scope="session")
def planner(medical: DomainPack) -> PackPlanner:
    """Taught by the hashed vectors."""
    planner = PackPlanner(medical, RouterSettings())
    vectors = np.stack([hashed_vector(text) for text in planner.teaching])
    planner.learn([Embedding(vectors, "hashed-1", 0.0)])
    return planner


@pytest.fixture
def hashed() -> HashedEmbedder:
    return HashedEmbedder()


@pytest.fixture
def model(medical: DomainPack) -> ExampleClassifier:
    """Knows the pack's examples by heart."""
    return ExampleClassifier(
        [
            (example.question, intent_id)
            for intent_id, path in medical.intent_paths.items()
            for example in path[-1].examples
        ]
    )


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.fixture
def make_router(packs: dict[str, DomainPack], hashed: HashedEmbedder, queue: Queue) -> Callable[..., RouterAgent]:
    def make(**changes: Any) -> RouterAgent:
        parts: dict[str, Any] = {
            "settings": RouterSettings(),
            "packs": packs,
            "default_domain": "medical_insurance",
            "embedder": hashed,
            "find_titles": find_titles,
            "labelling_queue": queue,
            "today": lambda: TODAY,
        }
        return RouterAgent(**(parts | changes))

    return make


def labelled(name: str) -> list[dict[str, Any]]:
    """The labelled questions of a file beside this one."""
    found: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / name).read_text("utf-8"))
    return found
