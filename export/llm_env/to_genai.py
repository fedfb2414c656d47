"""A step: a Gemma 3 checkpoint → the folder that onnxruntime-genai serves, by its own model builder."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from export.llm_env.result import answer

__all__ = ["run"]

# Of the precisions of a spec: the builder's own name, and its options.
PRECISIONS = {
    "int8": ("int8", ()),
    # Plain rounding to 4 bits ruins a model this small; k-quants with the last layer in 8 bits do not.
    "k_quant_mixed": ("int4", ("algo_config=k_quant_mixed",)),
}
# A windowed cache is the engine's default, and wrong where a prompt is longer than the window is deep; the logits of a
# prompt's last token are the only ones that decoding needs.
OPTIONS = ("hf_remote=false", "windowed_kv_cache=false", "prune_lm_head=true")


def run(source: str, target: str, precision: str, context: int) -> dict[str, Any]:
    """Write ``model.onnx``, its data, ``genai_config.json`` and the tokenizer's files into ``target``.

    Args:
        source: a Gemma 3 checkpoint with ``tokenizer.json``.
        target: a folder.
        precision: a key of `PRECISIONS`.
        context: tokens of prompt and completion together, at most; tables of positions are cut to it.
    """
    from onnxruntime_genai.models import builder  # noqa: PLC0415

    name, more = PRECISIONS[precision]
    with tempfile.TemporaryDirectory() as cache:
        place = ("", source, target, name, "cpu", cache)
        options = builder.parse_extra_options(*place, [*OPTIONS, *more])
        config = options["hf_details"]["hf_config"]
        rope = config.rope_parameters
        # transformers 5 keeps one entry for each kind of attention; the builder knows Gemma 3 as transformers 4 did.
        config.rope_theta = rope["full_attention"]["rope_theta"]
        config.rope_local_base_freq = rope["sliding_attention"]["rope_theta"]
        config.rope_parameters = {"rope_type": "default", "rope_theta": config.rope_theta}
        config.max_position_embeddings = min(config.max_position_embeddings, context)
        builder.create_model(*place, **options)
    _tidy(Path(target) / "genai_config.json")
    return {"bytes": sum(path.stat().st_size for path in Path(target).iterdir())}


def _tidy(path: Path) -> None:
    tree = json.loads(path.read_text(encoding="utf-8"))
    tree["search"]["do_sample"] = False
    path.write_text(json.dumps(tree, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    answer(run)
