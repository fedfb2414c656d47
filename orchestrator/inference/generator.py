"""The generator: a prompt to its completion through Triton, by onnxruntime-genai or by TensorRT-LLM."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.errors import ModelError, TriasError
from orchestrator.inference.closing import Closing
from orchestrator.inference.deadline import Deadline, finish_within
from orchestrator.inference.served import ServedModel
from orchestrator.inference.versions import ModelVersion
from orchestrator.settings import InferenceSettings

__all__ = ["Generation", "TritonGenerator", "generation_inputs"]

TEXT, FINISH_REASON = "text", "finish_reason"
GUIDE_TYPE, GUIDE = "guided_decoding_guide_type", "guided_decoding_guide"
LARK = "lark_grammar"
# What TensorRT-LLM's llmapi writes where the text would be, when the request failed.
FAILED_TEXT = "N/A"
# What opening a version may take on a busy machine.
FIRST_LOOK_S = 10.0


@dataclass(frozen=True, slots=True)
class Generation:
    """A completion.

    Attributes:
        text: without the prompt.
        complete: whether the model ended it, rather than ``max_tokens``.
        fingerprint: of the model version that wrote it.
        model_ms: milliseconds spent waiting for Triton.
    """

    text: str
    complete: bool
    fingerprint: str
    model_ms: float


class TritonGenerator(Closing):
    """Completions of one served model; the tensors are those of TensorRT-LLM's ``llmapi``.

    A causal model on CPU answers one request at a time, so only a few are sent at once and the rest wait here, where
    they cost nothing and can be given up. Cancelling a call cancels the generation between two tokens.

    Args:
        settings: endpoints, deadlines, how many at once.
        model_repository: where the versions' manifests lie.
        model: its name in Triton.
    """

    def __init__(self, settings: InferenceSettings, model_repository: Path, model: str = "reasoner") -> None:
        self._served = ServedModel(settings, model_repository, model)
        self._deadline_s = settings.deadline_s
        self._slots = asyncio.Semaphore(settings.max_concurrent_generations)

    async def close(self) -> None:
        """Close the connections."""
        await self._served.close()

    async def fingerprint(self) -> str | None:
        """The fingerprint of the version that would answer now; None where the model does not answer."""
        deadline = Deadline.after(FIRST_LOOK_S)
        what = f"Asking for the version of '{self._served.model}'"
        try:
            return (await finish_within(self._served.refresh(deadline), deadline, what)).fingerprint
        except TriasError:
            return None

    async def generate(
        self, prompt: str, *, max_tokens: int, grammar: str = "", timeout_s: float | None = None
    ) -> Generation:
        """Complete ``prompt``, the likeliest token at each step.

        Args:
            prompt: text as it stands; no chat template is applied.
            max_tokens: of the completion, at most.
            grammar: a Lark grammar that the completion must match. A server that takes none (TensorRT-LLM's own
                ``model.py``) answers freely: whoever needs the shape checks it.
            timeout_s: at most this long, waiting for a place included; the configured deadline where None.

        Raises:
            ModelUnavailableError, ModelNotFoundError: the model does not answer.
            ModelError: it cannot complete this prompt (too long, say), or failed.
            DeadlineExceededError: the time is up.
        """
        deadline = Deadline.after(self._deadline_s if timeout_s is None else timeout_s)
        inputs = generation_inputs(prompt, max_tokens, grammar)

        async def work(version: ModelVersion) -> Generation:
            started = time.perf_counter()
            roles = (TEXT, FINISH_REASON)
            outputs = await self._served.infer(version, inputs, deadline, roles=roles)
            elapsed = (time.perf_counter() - started) * 1000
            text, reason = (_only(outputs[role], role) for role in roles)
            if text == FAILED_TEXT and reason != "stop":
                raise ModelError(f"Model '{self._served.model}' failed to complete the prompt ({reason}).")
            return Generation(text, reason == "stop", version.fingerprint, elapsed)

        async def queued() -> Generation:
            async with self._slots:
                return await self._served.run(work, deadline)

        return await finish_within(queued(), deadline, f"A completion by '{self._served.model}'")


def generation_inputs(prompt: str, max_tokens: int, grammar: str = "") -> dict[str, npt.NDArray[Any]]:
    """The tensors of a request; arguments as in `TritonGenerator.generate`."""
    inputs: dict[str, npt.NDArray[Any]] = {
        "text_input": _string(prompt),
        "sampling_param_max_tokens": np.asarray([max_tokens], np.int32),
        # llmapi echoes the prompt unless told not to.
        "sampling_param_exclude_input_from_output": np.asarray([True]),
        "return_finish_reason": np.asarray([True]),
        "streaming": np.asarray([False]),
        # Greedy, whatever a server takes for its default.
        "sampling_param_temperature": np.asarray([0.0], np.float32),
        "sampling_param_top_k": np.asarray([1], np.int32),
    }
    if grammar:
        inputs |= {GUIDE_TYPE: _string(LARK), GUIDE: _string(grammar)}
    return inputs


def _string(text: str) -> npt.NDArray[np.object_]:
    array = np.empty(1, dtype=np.object_)
    array[0] = text.encode("utf-8")
    return array


def _only(strings: npt.NDArray[Any], role: str) -> str:
    """The one string of an output.

    Raises:
        ModelError: there is none or several, or it is no text.
    """
    flat = strings.reshape(-1)
    if len(flat) != 1 or not isinstance(flat[0], bytes):
        raise ModelError(f"The model's output '{role}' holds {len(flat)} values; one text is due.")
    return flat[0].decode("utf-8", errors="replace")
