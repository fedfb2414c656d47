from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from orchestrator.errors import BackendUnavailableError, ModelNotFoundError, ModelUnavailableError
from orchestrator.inference.models import Classifier, Embedding, TextKind
from orchestrator.knowledge.clause import Document
from orchestrator.router.lookups import FindTitles, Lookups
from tests.router.conftest import ExampleClassifier, HashedEmbedder, find_titles
from trias.v1 import common_pb2


def lookups(
    embedder: HashedEmbedder,
    titles: FindTitles = find_titles,
    seconds: float = 5.0,
    *,
    classifier: Classifier | None = None,
    required: bool = False,
) -> Lookups:
    return Lookups(
        embedder,
        classifier,
        titles,
        classifier_required=required,
        embed_timeout_s=seconds,
        classify_timeout_s=seconds,
        titles_timeout_s=seconds,
    )


async def test_the_vector_is_that_of_the_text(hashed: HashedEmbedder) -> None:
    found = await lookups(hashed).vectors("住院")
    assert found.vector is not None
    assert found.vector.shape == (512,)
    assert found.model_ms == 0.5
    assert found.degradation is None


async def test_a_dead_embedder_is_a_degradation(hashed: HashedEmbedder) -> None:
    hashed.error = ModelUnavailableError("Triton does not answer.")
    found = await lookups(hashed).vectors("住院")
    assert found.vector is None
    assert found.degradation is not None
    assert found.degradation.component == "embedder"
    assert found.degradation.reason == "MODEL_UNAVAILABLE"
    assert found.degradation.level == common_pb2.FAULT_LEVEL_DEGRADED


class Sleeper(HashedEmbedder):
    """Ignores its own deadline."""

    async def embed(self, texts: Sequence[str], *, kind: TextKind, timeout_s: float | None = None) -> Embedding:
        await asyncio.sleep(3600)
        raise AssertionError


async def test_an_embedder_that_overruns_is_given_up() -> None:
    found = await lookups(Sleeper(), seconds=0.01).vectors("住院")
    assert found.degradation is not None
    assert found.degradation.reason == "DEADLINE_EXCEEDED"


async def test_cancellation_goes_through() -> None:
    task = asyncio.create_task(lookups(Sleeper()).vectors("住院"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_titles_of_the_question_and_of_each_mark(hashed: HashedEmbedder) -> None:
    found = await lookups(hashed).titles("《医疗救助办法》和云川省大病保险实施细则")
    assert [document_id for document_id, _ in found.whole] == ["d-major"]
    assert {name: [key for key, _ in hits] for name, hits in found.marked.items()} == {"医疗救助办法": ["d-assist"]}


async def test_a_document_is_known_by_its_number_too(hashed: HashedEmbedder) -> None:
    async def numbered(text: str, limit: int) -> list[Document]:
        return [Document("d1", "a.md", "通知", "0", doc_number="云医保发〔2024〕12号")]

    found = await lookups(hashed, numbered).titles("云医保发〔2024〕12号")
    assert found.whole == [("d1", "通知"), ("d1", "云医保发〔2024〕12号")]


async def test_a_dead_catalogue_is_a_degradation(hashed: HashedEmbedder) -> None:
    async def dead(text: str, limit: int) -> list[Document]:
        raise BackendUnavailableError("Neo4j does not answer.")

    async def slow(text: str, limit: int) -> list[Document]:
        await asyncio.sleep(3600)
        return []

    for titles, reason in ((dead, "INDEX_UNAVAILABLE"), (slow, "DEADLINE_EXCEEDED")):
        found = await lookups(hashed, titles, seconds=0.01).titles("《甲办法》")
        assert found.degradation is not None
        assert (found.degradation.component, found.degradation.reason) == ("clause_graph", reason)
        assert not found.whole


async def test_a_model_that_is_not_served_is_nothing_special(hashed: HashedEmbedder, model: ExampleClassifier) -> None:
    model.error = ModelNotFoundError("No model 'router'.")
    made = lookups(hashed, classifier=model)
    for _ in range(3):
        found = await made.classified("住院")
        assert found.classification is None
        assert found.degradation is None
    # It is not asked for with every question.
    assert len(model.calls) == 1


async def test_a_model_that_is_required_is_missed(hashed: HashedEmbedder, model: ExampleClassifier) -> None:
    model.error = ModelNotFoundError("No model 'router'.")
    found = await lookups(hashed, classifier=model, required=True).classified("住院")
    assert found.degradation is not None
    assert (found.degradation.component, found.degradation.reason) == ("router_model", "MODEL_NOT_FOUND")


async def test_a_model_that_fails_is_a_degradation(hashed: HashedEmbedder, model: ExampleClassifier) -> None:
    model.error = ModelUnavailableError("Triton does not answer.")
    found = await lookups(hashed, classifier=model).classified("住院")
    assert found.degradation is not None
    assert found.degradation.component == "router_model"


async def test_without_a_model_nobody_is_asked(hashed: HashedEmbedder) -> None:
    found = await lookups(hashed).classified("住院")
    assert (found.classification, found.degradation, found.model_ms) == (None, None, 0.0)
