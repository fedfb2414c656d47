"""The commands that build a TensorRT engine, for TensorRT-LLM up to 1.2.1; upstream is about to remove that path.

They are made and checked here, and run inside NVIDIA's image. Sources: ``examples/models/core/{gemma,phi}/
convert_checkpoint.py`` and ``trtllm-build`` of TensorRT-LLM 1.2.1.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from export.checkpoint import check_architecture
from export.spec import GenerativeSpec
from orchestrator.errors import BuildError

__all__ = ["EngineCommands", "engine_commands"]

EXAMPLES = PurePosixPath("/app/tensorrt_llm/examples/models/core")
DTYPES = {"fp16": "float16", "bf16": "bfloat16"}


@dataclass(frozen=True, slots=True)
class EngineCommands:
    """What to run, in order, inside the image."""

    convert: tuple[str, ...]
    build: tuple[str, ...]

    def as_script(self) -> str:
        """A shell script of both."""
        return "set -eu\n" + "".join(shlex.join(command) + "\n" for command in (self.convert, self.build))


def engine_commands(spec: GenerativeSpec, checkpoint: Path, work: PurePosixPath) -> EngineCommands:
    """The two commands for a merged checkpoint.

    Args:
        spec: with ``build``.
        checkpoint: the merged checkpoint; looked into, to tell at once what the image would tell after minutes.
        work: a folder in the image for the converted checkpoint and the engine.

    Raises:
        BuildError: the checkpoint is another model's or has fewer positions than asked for, or the spec is for a CPU.
    """
    if spec.build is None:
        raise BuildError(f"Model {spec.model} is not one for TensorRT-LLM.")
    check_architecture(checkpoint, spec.architecture)
    serving = spec.serving
    longest = serving.max_input_tokens + serving.max_output_tokens
    positions = json.loads((checkpoint / "config.json").read_text(encoding="utf-8")).get("max_position_embeddings")
    if isinstance(positions, int) and longest > positions:
        raise BuildError(f"{longest} tokens (input and output) are asked for, and {checkpoint} knows {positions}.")
    dtype = DTYPES[spec.precision]
    script = str(EXAMPLES / spec.build.engine_family / "convert_checkpoint.py")
    converted, engine = str(work / "converted"), str(work / "engine")
    convert = ["python3", script, "--model_dir", str(checkpoint), "--output_dir", converted, "--dtype", dtype]
    # Only Gemma's script asks which kind of checkpoint it is given; its other options have the same aliases as Phi's.
    if spec.build.engine_family == "gemma":
        convert += ["--ckpt-type", "hf", "--world-size", "1"]
    build = [
        *("trtllm-build", "--checkpoint_dir", converted, "--output_dir", engine),
        *("--gemm_plugin", "auto"),
        *("--max_batch_size", str(serving.max_batch_size)),
        *("--max_input_len", str(serving.max_input_tokens)),
        *("--max_seq_len", str(longest)),
    ]
    return EngineCommands(tuple(convert), tuple(build))
