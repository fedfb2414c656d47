"""A causal language model for TensorRT-LLM's `llmapi`: the merged checkpoint, and the files that have it served."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from export.adapter import check_base, is_adapter, merge_adapter
from export.base import TOKENIZER, WEIGHTS, Progress
from export.checkpoint import check_architecture, check_sizes
from export.config_llm import MODEL_YAML, WEIGHTS_FOLDER, render_model_yaml
from export.gates import at_least
from export.opening import read_tokenizer
from export.probes import PASSAGES, QUERIES
from export.spec import GenerativeSpec
from orchestrator.errors import BuildError
from orchestrator.settings import PROJECT

__all__ = ["make_llmapi"]

# Runs inside NVIDIA's image, where it hands over to upstream's own.
MODEL_PY = PROJECT / "model_repository" / "backends" / "llmapi" / "model.py"
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
# Half precision against float32, over all places of the probes.
CORRELATION, AGREEMENT = 0.995, 0.95
PROBES = (*PASSAGES[:4], *QUERIES[:2])
# Beside the weights: what a tokenizer is made from, chat templates, and the terms that the weights come under.
COMPANIONS = (
    "tokenizer*",
    "special_tokens_map.json",
    "chat_template*",
    "generation_config.json",
    "LICENSE*",
    "NOTICE*",
)
Logits = npt.NDArray[np.float32]


def make_llmapi(
    spec: GenerativeSpec, checkpoint: Path, base: Path, target: Path, *, progress: Progress
) -> dict[str, float]:
    """Write ``model.py``, ``model.yaml`` and the merged checkpoint into ``target``; the figures of the checks.

    Raises:
        GateError: in its half precision the model computes something else.
        BuildError: the checkpoint is damaged, or of another architecture or size.
    """
    adapter = is_adapter(checkpoint)
    whole = base if adapter else checkpoint
    check_architecture(whole, spec.architecture)
    if spec.sizes is not None:
        check_sizes(whole, spec.sizes)
    progress("Open the checkpoint")
    model = _open(whole, spec)
    if adapter:
        _check_base(checkpoint, base)
        progress("Merge the adapter")
        model = merge_adapter(model, checkpoint)
    tokenizer = whole / TOKENIZER
    rows = [read_tokenizer(tokenizer).encode(probe).ids for probe in PROBES]
    progress("Run the checkpoint")
    reference = [_logits(model, row) for row in rows]
    progress(f"Save it in {spec.precision}")
    folder = target / WEIGHTS_FOLDER
    model.to(DTYPES[spec.precision]).save_pretrained(folder)
    del model
    for pattern in COMPANIONS:
        for path in whole.glob(pattern):
            shutil.copyfile(path, folder / path.name)
    # Where every version has it: callers count tokens with it.
    shutil.copyfile(tokenizer, target / TOKENIZER)
    (target / MODEL_YAML).write_text(render_model_yaml(spec), encoding="utf-8")
    shutil.copyfile(MODEL_PY, target / MODEL_PY.name)
    progress("Compare what was saved and the checkpoint")
    saved = _open(folder, spec, dtype=DTYPES[spec.precision])
    return _compare([_logits(saved, row) for row in rows], reference)


def _check_base(checkpoint: Path, base: Path) -> None:
    """Only where the base is one file: an index over several has no hash that a run card could name."""
    if (base / WEIGHTS).is_file():
        check_base(checkpoint, base / WEIGHTS)


def _open(folder: Path, spec: GenerativeSpec, dtype: torch.dtype = torch.float32) -> Any:
    from transformers import Gemma3ForCausalLM, Phi3ForCausalLM  # noqa: PLC0415 (seconds to import)

    kind: Any = Gemma3ForCausalLM if spec.architecture == "gemma3_text" else Phi3ForCausalLM
    try:
        return kind.from_pretrained(folder, dtype=dtype, local_files_only=True, attn_implementation="eager").eval()
    except Exception as error:  # transformers and safetensors raise what they like
        raise BuildError(f"The checkpoint {folder} cannot be opened: {error}.") from None


def _logits(model: Any, ids: Sequence[int]) -> Logits:
    with torch.inference_mode():
        logits: Logits = model(torch.tensor([list(ids)])).logits[0].float().numpy()
    return logits


def _compare(served: Sequence[Logits], reference: Sequence[Logits]) -> dict[str, float]:
    places = [
        (mine, right)
        for one, other in zip(served, reference, strict=True)
        for mine, right in zip(one, other, strict=True)
    ]
    correlation = min(float(np.corrcoef(mine, right)[0, 1]) for mine, right in places)
    equal = float(np.mean([mine.argmax() == right.argmax() for mine, right in places]))
    return {
        **at_least("logit_correlation", correlation, CORRELATION),
        **at_least("likeliest_token_equal", equal, AGREEMENT),
    }
