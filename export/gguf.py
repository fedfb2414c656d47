"""The base checkpoint of a language model, from the GGUF file that Python packages carry in parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from export.llm_env.environment import run_step
from export.noted import note_checks, noted_checks
from export.parts import GgufSource
from export.recipe import base_recipe_of
from export.repository import build_lock, publish, staging_folder
from orchestrator.errors import GateError

__all__ = ["ensure_gguf"]

FILES = ("config.json", "model.safetensors", "tokenizer.json")
# Nats a token of the probe below. Measured 3.7; a model whose weights were misread is near log(262144) = 12.5.
MAX_NLL = 4.5
PROBE = (
    "参保人员在定点医疗机构住院发生的医疗费用，由统筹基金按照规定的比例支付，其余部分由个人负担。"
    "参保人员应当妥善保管医疗保障凭证，不得出租、出借。"
)


def ensure_gguf(
    source: GgufSource, folder: Path, progress: Callable[[str], None], *, force: bool = False
) -> dict[str, float]:
    """Have the checkpoint in ``folder``, with the weights' terms beside it.

    Args:
        source: which packages, and the checksum of what they assemble.
        folder: ``<data>/checkpoints/<name>``.
        progress: told the name of each step as it begins.
        force: make it anew, even where it is up to date.

    Returns:
        The figures of its checks.

    Raises:
        ConfigurationError: `.venv-llm`, or a library in it, is missing.
        GateError: the weights were not read as they should.
        BuildError: the packages are missing or hold other weights.
    """
    recipe = base_recipe_of(source)
    noted = None if force else noted_checks(folder, recipe, FILES)
    if noted is not None:
        return noted
    progress("Dequantise (in .venv-llm)")
    with build_lock(folder.parent), staging_folder(folder.parent) as staging:
        checks = run_step("from_gguf", package=source.package, sha256=source.sha256, target=str(staging), probe=PROBE)
        if not checks["nll"] <= MAX_NLL:
            raise GateError("nll_checkpoint", checks["nll"], f"<= {MAX_NLL:g}")
        if not checks["difference"] == 0:
            raise GateError("checkpoint_difference", checks["difference"], "== 0")
        figures = {"nll_checkpoint": round(checks["nll"], 4)}
        note_checks(staging, recipe, FILES, figures)
        publish(staging, folder)
    return figures
