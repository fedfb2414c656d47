"""What the systems run and are asked: the live version, its checkpoint, that one's float32 graph, texts."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from export.base import TOKENIZER, Base, ensure_base
from export.golden import RetrievalSet, own_retrieval_set, read_golden
from export.manifest import Manifest, read_manifest
from export.recipe import checkpoint_files
from export.spec import EmbedderSpec, load_spec
from loadtest.questions import read_questions
from loadtest.serving.loads import Kind
from orchestrator.errors import BuildError, ConfigurationError
from orchestrator.inference.repository import live_version, servable_models
from orchestrator.settings import PROJECT

if TYPE_CHECKING:
    from export.opening import Opened

__all__ = ["MODEL", "Material", "Texts", "own_texts", "prepare"]

MODEL = "embedder"
GRAPH, MERGED = "model.onnx", "checkpoint"
QUESTIONS = PROJECT / "examples" / "questions.txt"
# Of each kind, compared with the reference before anything is timed.
COMPARED = 16


@dataclass(frozen=True, slots=True)
class Texts:
    """Queries and passages without their prefixes."""

    queries: tuple[str, ...]
    passages: tuple[str, ...]

    @property
    def compared(self) -> dict[Kind, list[str]]:
        """The few of each kind whose vectors are compared."""
        return {"query": list(self.queries[:COMPARED]), "passage": list(self.passages[:COMPARED])}


@dataclass(frozen=True, slots=True)
class Material:
    """What is measured.

    Attributes:
        version: the folder of the live version.
        manifest: its.
        checkpoint: what it was made of, as a Hugging Face folder.
        graph: the same as a float32 graph.
        reference: the checkpoint's own vectors of `Texts.compared`, by kind; float64 [texts, dimension].
    """

    version: Path
    manifest: Manifest
    checkpoint: Path
    graph: Path
    reference: dict[Kind, npt.NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class _Origin:
    """The live version and what it was made of."""

    spec: EmbedderSpec
    version: Path
    manifest: Manifest
    checkpoint: Path
    base: Base


def own_texts() -> Texts:
    """The repository's own: the questions and passages of the golden set, and the example questions."""
    golden = read_golden("embedder", own_retrieval_set())
    assert isinstance(golden, RetrievalSet)
    asked = [*golden.texts, *read_questions(QUESTIONS)]
    return Texts(tuple(dict.fromkeys(asked)), golden.passages)


def prepare(repository: Path, data: Path, target: Path, texts: Texts, *, checkpoint: Path | None = None) -> Material:
    """Find the live version, and make what the others need of its checkpoint where it isn't there yet.

    Args:
        repository: the model repository.
        data: Trias's data folder, with the base checkpoint.
        target: where the float32 graph and a merged checkpoint are kept for the next run.
        texts: the reference is made of some of them.
        checkpoint: what the live version was made of, where that isn't the default build's.

    Raises:
        ConfigurationError: the embedder is not built, or was made of another checkpoint.
        BuildError: the checkpoint is damaged.
    """
    # Seconds to import; only where something is measured.
    from export.opening import open_checkpoint  # noqa: PLC0415

    origin = _origin(repository, data, checkpoint)
    opened = open_checkpoint(origin.spec, origin.checkpoint, origin.base)
    if opened.tokenizer.read_bytes() != (origin.version / TOKENIZER).read_bytes():
        raise BuildError(f"{opened.tokenizer} is not the tokenizer of {origin.version}.")
    kept = target / origin.manifest.fingerprint[:12]
    if not kept.is_dir():
        _keep(origin, opened, kept)
    merged = kept / MERGED
    return Material(
        origin.version,
        origin.manifest,
        merged if merged.is_dir() else origin.checkpoint,
        kept / GRAPH,
        {kind: _vectors(origin.spec, opened, kind, some) for kind, some in texts.compared.items()},
    )


def _origin(repository: Path, data: Path, checkpoint: Path | None) -> _Origin:
    if MODEL not in servable_models(repository):
        raise ConfigurationError("The embedder is not built.", hint="Run `trias models build`.")
    spec = load_spec(MODEL)
    assert isinstance(spec, EmbedderSpec)
    version = repository / MODEL / live_version(repository, MODEL)
    manifest = read_manifest(version)
    base = ensure_base(spec, data)
    # A version of the base itself names no files.
    files = manifest.source.checkpoint
    chosen = checkpoint or (PROJECT / "adapters" / spec.adapter if spec.adapter and files else base.folder)
    made_of_it = checkpoint_files(chosen) == files if files else chosen == base.folder
    if not made_of_it:
        raise ConfigurationError(
            f"{version} was not made of {chosen}.", hint="Name the checkpoint that was published: --checkpoint DIR."
        )
    return _Origin(spec, version, manifest, chosen, base)


def _keep(origin: _Origin, opened: Opened, kept: Path) -> None:
    """Write the float32 graph, and the merged checkpoint of an adapter; all of it or nothing."""
    from export.adapter import is_adapter  # noqa: PLC0415
    from export.onnx import export_graph  # noqa: PLC0415

    spec = origin.spec
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
        made = Path(scratch) / kept.name
        made.mkdir()
        export_graph(opened.module, made / GRAPH, outputs=[spec.outputs["dense"]], opset=spec.opset)
        if is_adapter(origin.checkpoint):
            opened.module.encoder.save_pretrained(made / MERGED)
            for path in origin.base.folder.glob("tokenizer*.json"):
                shutil.copyfile(path, made / MERGED / path.name)
        made.rename(kept)


def _vectors(spec: EmbedderSpec, opened: Opened, kind: Kind, texts: Sequence[str]) -> npt.NDArray[np.float64]:
    from export.opening import read_tokenizer  # noqa: PLC0415
    from export.runs import encode, torch_outputs  # noqa: PLC0415

    prompts = [spec.prefixes[kind] + text for text in texts]
    rows = encode(read_tokenizer(opened.tokenizer), prompts, spec.max_length)
    return np.stack(torch_outputs(opened.module, rows, ["dense"])["dense"]).astype(np.float64)
