"""What `trias eval router` does: ask the served models, compare with the labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evaluation.routing import RoutedQuestion, judge_router
from finetune.synthesis.questions import LabelledQuestion, read_questions
from orchestrator.domain.pack import load_packs
from orchestrator.errors import ConfigurationError, ModelNotFoundError
from orchestrator.inference.classifier import TritonClassifier
from orchestrator.inference.embedder import TritonEmbedder
from orchestrator.server.models import served_models
from orchestrator.settings import Settings

__all__ = ["measure_router"]

Figures = dict[str, tuple[int, dict[str, dict[str, float]]]]


async def measure_router(settings: Settings, files: Sequence[Path], split: str, domain: str | None) -> Figures:
    """File → how many questions, and the figures of each system on them.

    A model that is not served is left out of the comparison.

    Raises:
        ConfigurationError: a file is wrong or holds no question to judge, the pack is not there, or no Triton answers.
    """
    packs = load_packs(settings.paths.domains)
    name = domain or settings.domain.default
    if name not in packs:
        raise ConfigurationError(f"--domain: there is no domain pack {name!r}.", hint=f"Known: {', '.join(packs)}.")
    labelled = {str(file): _of_split(read_questions(file, packs[name]), split, file) for file in files}
    async with served_models(settings) as models:
        if models.fault:
            raise ConfigurationError(f"No model is served: {models.fault}")
        inference, repository = models.settings.inference, settings.paths.model_repository
        async with TritonEmbedder(inference, repository) as embedder, TritonClassifier(inference, repository) as model:
            await embedder.fingerprint()
            try:
                await model.classify(["你好"])
                classifier: TritonClassifier | None = model
            except ModelNotFoundError:
                classifier = None
            return {
                file: (len(questions), await judge_router(packs[name], questions, embedder, classifier))
                for file, questions in labelled.items()
            }


def _of_split(questions: Sequence[LabelledQuestion], split: str, file: Path) -> list[RoutedQuestion]:
    """The questions of one split; a file of questions that people asked, without templates, is taken whole."""
    made = any(one.template for one in questions)
    chosen = [one for one in questions if one.split == split or not made]
    if not chosen:
        raise ConfigurationError(f"{file} holds no question of the split {split!r}.", hint="Check --split.")
    return [
        RoutedQuestion(one.text, one.intent, frozenset((slot.slot_type, slot.value) for slot in one.slots))
        for one in chosen
    ]
