"""Lies in a version's folder beside `model.yaml`: hands over to TensorRT-LLM's own `llmapi` model in NVIDIA's image.

Upstream's model.py opens the model.yaml that LLM_CONFIG_PATH names, and its `model` entry as it stands. Here that entry
is a folder beside this file, whatever number the version has and wherever the repository is mounted; so a copy with
the whole path is written, and upstream is told of it. Nothing of upstream's is changed or copied.

* `TRIAS_LLMAPI`: where upstream's model.py and helpers.py lie; by default where the image has them.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import yaml

__all__ = ["TritonPythonModel"]

UPSTREAM = Path(os.environ.get("TRIAS_LLMAPI", "/app/all_models/llmapi/tensorrt_llm/1"))
HERE = Path(__file__).resolve().parent


def _whole_path() -> None:
    tree = yaml.safe_load((HERE / "model.yaml").read_text(encoding="utf-8"))
    tree["model"] = str(HERE / tree["model"])
    # One process serves one model, so neither file nor variable is anybody else's.
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False, encoding="utf-8") as stream:
        yaml.safe_dump(tree, stream, sort_keys=False)
    os.environ["LLM_CONFIG_PATH"] = stream.name


def _upstream() -> type:
    if not (UPSTREAM / "model.py").is_file():
        raise FileNotFoundError(f"{UPSTREAM}/model.py is missing: is this NVIDIA's image with TensorRT-LLM?")
    sys.path.insert(0, str(UPSTREAM))  # for its helpers.py
    spec = importlib.util.spec_from_file_location("llmapi_model", UPSTREAM / "model.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.TritonPythonModel


_whole_path()
TritonPythonModel = _upstream()
