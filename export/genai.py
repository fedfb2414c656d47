"""A causal language model for a CPU: adapter merged, word table shortened, quantised by onnxruntime-genai's builder."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from export.adapter import check_base, is_adapter, merge_adapter
from export.gates import at_least, at_most
from export.llm_env.environment import find_python, run_step
from export.probes import PASSAGES, QUERIES
from export.shortening import shorten_model, shorten_tokenizer
from orchestrator.errors import BuildError, ConfigurationError

__all__ = ["make_genai"]

TOKENIZER, WEIGHTS = "tokenizer.json", "model.safetensors"
# Papers of the weights, which stay beside whatever is made of them.
PAPERS = ("NOTICE.md", "GEMMA_TERMS.html", "README.upstream.md")
# Gates. Logits of kept words must not change at all, but for the order of additions.
SHORTENED_GAP = 1e-3
# int8 measured 0.998 (worst of 97 places) and 0.948; k_quant_mixed 0.905 and 0.70, and fails; plain 4 bits 0.89.
CORRELATION = 0.99
AGREEMENT = 0.9
PROBES = (*PASSAGES[:4], *QUERIES[:2])

Logits = npt.NDArray[np.float32]


def make_genai(
    checkpoint: Path, base: Path, target: Path, *, precision: str, max_length: int, progress: Callable[[str], None]
) -> dict[str, float]:
    """Write what the `genai` backend serves into ``target``.

    Args:
        checkpoint: a Gemma 3 checkpoint, or an adapter for the one in ``base``.
        base: the base checkpoint.
        target: a folder.
        precision: ``int8`` or ``k_quant_mixed``.
        max_length: tokens of prompt and completion together.
        progress: told the name of each step as it begins.

    Returns:
        The figures of the checks.

    Raises:
        ConfigurationError: `.venv-llm`, or a library, is missing.
        GateError: a check measured too little.
        BuildError: the checkpoint is damaged or of another architecture.
    """
    find_python()
    adapter = is_adapter(checkpoint)
    whole = base if adapter else checkpoint
    if adapter:
        check_base(checkpoint, base / WEIGHTS)
    progress("Open the checkpoint")
    model = _open(whole)
    if adapter:
        progress("Merge the adapter")
        model = merge_adapter(model, checkpoint)
    tokenizer = whole / TOKENIZER
    with tempfile.TemporaryDirectory(dir=target) as scratch:
        short = Path(scratch) / "checkpoint"
        progress("Shorten the word table")
        reference, rows, checks = _shorten(model, tokenizer, short)
        progress(f"Build for onnxruntime-genai ({precision}, in .venv-llm)")
        built = Path(scratch) / "built"
        run_step("to_genai", source=str(short), target=str(built), precision=precision, context=max_length)
        progress("Compare what is served and the checkpoint")
        checks |= _compare(built, rows, reference)
        # The builder's own copy has words added that the model doesn't know.
        shutil.copyfile(short / TOKENIZER, built / TOKENIZER)
        for path in built.iterdir():
            shutil.move(path, target / path.name)
    for paper in PAPERS:
        if (base / paper).is_file():
            shutil.copyfile(base / paper, target / paper)
    return checks


def _open(folder: Path) -> Any:
    import torch  # noqa: PLC0415 (seconds to import)
    from transformers import Gemma3ForCausalLM  # noqa: PLC0415

    try:
        return Gemma3ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    except Exception as error:  # transformers and safetensors raise what they like
        raise BuildError(f"The checkpoint {folder} cannot be opened: {error}.") from None


def _shorten(model: Any, tokenizer: Path, target: Path) -> tuple[list[Logits], list[list[int]], dict[str, float]]:
    """Save the model with a shortened word table; its logits on the probes, their ids, and the figures of the checks.

    Raises:
        GateError: a probe is cut into other tokens than before, or a kept word's logit changes.
    """
    from tokenizers import Tokenizer  # noqa: PLC0415

    short = shorten_tokenizer(tokenizer)
    text = json.dumps(short.tokenizer, ensure_ascii=False)
    old, new = Tokenizer.from_file(str(tokenizer)), Tokenizer.from_str(text)
    whole = [old.encode(probe).ids for probe in PROBES]
    rows = [new.encode(probe).ids for probe in PROBES]
    same = [[short.kept[token] for token in row] == ids for row, ids in zip(rows, whole, strict=True)]
    checks = at_least("token_ids_equal", float(np.mean(same)), 1.0)
    kept = np.asarray(short.kept)
    before = [_logits(model, ids)[:, kept] for ids in whole]
    model = shorten_model(model, short.kept)
    after = [_logits(model, row) for row in rows]
    gap = max(float(np.abs(one - other).max()) for one, other in zip(before, after, strict=True))
    checks |= at_most("shortened_gap", gap, SHORTENED_GAP)
    model.save_pretrained(target)
    (target / TOKENIZER).write_text(text, encoding="utf-8")
    for name in ("tokenizer_config.json",):
        if (tokenizer.parent / name).is_file():
            shutil.copyfile(tokenizer.parent / name, target / name)
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    # The builder reads the config as transformers 5 writes it.
    config["rope_parameters"] = {
        "full_attention": {"rope_theta": model.config.rope_theta, "rope_type": "default"},
        "sliding_attention": {"rope_theta": model.config.rope_local_base_freq, "rope_type": "default"},
    }
    (target / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    return after, rows, checks


def _logits(model: Any, ids: Sequence[int]) -> Logits:
    import torch  # noqa: PLC0415

    with torch.inference_mode():
        logits: Logits = model(torch.tensor([list(ids)])).logits[0].numpy()
    return logits


def _compare(folder: Path, rows: Sequence[Sequence[int]], reference: Sequence[Logits]) -> dict[str, float]:
    """What is served against the checkpoint, place by place: correlation (worst), the likeliest token (share equal).

    Raises:
        GateError: they are too far apart.
        ConfigurationError: onnxruntime-genai is not installed here.
    """
    try:
        import onnxruntime_genai as og  # noqa: PLC0415
    except ImportError:
        raise ConfigurationError(
            "onnxruntime-genai is not installed, so the model cannot be checked.", hint="pip install 'trias[local]'"
        ) from None
    model = og.Model(str(folder))
    correlations, equal = [], []
    for row, logits in zip(rows, reference, strict=True):
        parameters = og.GeneratorParams(model)
        parameters.set_search_options(max_length=len(row) + 1, do_sample=False)
        generator = og.Generator(model, parameters)
        for place, token in enumerate(row):
            generator.append_tokens(np.asarray([[token]], np.int32))
            served = np.array(generator.get_logits()).reshape(-1)
            if place:  # after the control token alone there is nothing to predict
                correlations.append(float(np.corrcoef(served, logits[place])[0, 1]))
                equal.append(bool(served.argmax() == logits[place].argmax()))
    return {
        **at_least("logit_correlation", min(correlations), CORRELATION),
        **at_least("likeliest_token_equal", float(np.mean(equal)), AGREEMENT),
    }
