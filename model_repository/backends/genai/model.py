"""The `genai` backend: a causal language model by onnxruntime-genai, behind the tensors of TensorRT-LLM's llmapi.

It runs inside Triton's Python stub, so generation (which holds Python's global lock) has a process of its own. A
version's folder is what onnxruntime-genai's model builder writes. Inputs are those of TensorRT-LLM's
``all_models/llmapi``; beside them, two of ours: ``guided_decoding_guide_type`` (regex, json_schema, lark_grammar) and
``guided_decoding_guide`` confine the answer. One text a request; answers are given whole.

Grammars are llguidance's own: the copy inside onnxruntime-genai takes the bytes that a tokenizer falls back to for
signs that can't be decoded, and breaks off where a grammar forces the first byte of a Chinese character.

Parameters that it reads:

* ``threads``: intra-op threads.
* ``max_input_tokens``, ``max_output_tokens``: more of either is refused.

An error concerns one request only and says in one line what is wrong. A request whose client has gone is given up
between two tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime_genai as og
import triton_python_backend_utils as pb_utils
from llguidance import LLMatcher, LLTokenizer
from llguidance.numpy import allocate_token_bitmask, apply_token_bitmask_inplace, fill_next_token_bitmask
from tokenizers import Tokenizer

__all__ = ["TritonPythonModel"]

MODEL_FILES = ("genai_config.json", "model.onnx", "tokenizer.json")
BOS, EOS = "<bos>", "<eos>"
GUIDES = {
    "regex": LLMatcher.grammar_from_regex,
    "json_schema": LLMatcher.grammar_from_json_schema,
    "lark_grammar": LLMatcher.grammar_from_lark,
}
MAX_GUIDE_CHARS = 20_000
# onnxruntime appends source locations to messages; a client needs the first line.
MAX_ERROR_CHARS = 400
# What llmapi has and this backend does not: refused unless it has the value that changes nothing.
NEUTRAL = {
    "streaming": (False,),
    "stop": (False,),
    "sampling_param_best_of": (1,),
    "sampling_param_frequency_penalty": (0.0,),
    "sampling_param_presence_penalty": (0.0,),
}
STOP, LENGTH = "stop", "length"


class _CancelledError(Exception):
    """The client no longer waits for the answer."""


@dataclass(frozen=True)
class _Order:
    """A request, read and checked."""

    text: str
    max_tokens: int
    temperature: float
    top_k: int
    top_p: float
    seed: int
    stops: tuple[str, ...]
    echo: bool
    guide: tuple[str, str] | None
    finish_reason: bool
    stop_reason: bool
    logprob: bool


@dataclass
class _Answer:
    text: str
    finish_reason: str
    stop_reason: str
    logprob: float


class TritonPythonModel:
    """One instance of one version of a model. Triton calls the three methods."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Open the model and use a grammar once: the first use costs seconds, which no request shall wait for."""
        config = json.loads(args["model_config"])
        parameters = {key: value["string_value"] for key, value in config.get("parameters", {}).items()}
        if config.get("max_batch_size", 0) or config.get("model_transaction_policy", {}).get("decoupled"):
            raise pb_utils.TritonModelException("the genai backend needs max_batch_size 0 and decoupled false")
        folder = Path(args["model_repository"]) / args["model_version"]
        for name in MODEL_FILES:
            if not (folder / name).is_file():
                raise pb_utils.TritonModelException(f"{folder / name} does not exist; build or export the model first")
        self._outputs = {output["name"] for output in config["output"]}
        self._max_input = _count(parameters, "max_input_tokens", 1024)
        self._max_output = _count(parameters, "max_output_tokens", 64)
        try:
            options = og.Config(str(folder))
            session = {"intra_op_num_threads": _count(parameters, "threads", 1), "inter_op_num_threads": 1}
            options.overlay(json.dumps({"model": {"decoder": {"session_options": session}}}))
            self._model = og.Model(options)
            text = (folder / "tokenizer.json").read_text(encoding="utf-8")
            self._tokenizer = Tokenizer.from_str(text)
            self._bos, self._eos = self._tokenizer.token_to_id(BOS), self._tokenizer.token_to_id(EOS)
            words = json.loads((folder / "genai_config.json").read_text(encoding="utf-8"))["model"]["vocab_size"]
            self._words = LLTokenizer(text, n_vocab=words, eos_token=self._eos)
            self._mask = allocate_token_bitmask(1, words)
        except Exception as error:
            raise pb_utils.TritonModelException(f"{folder} cannot be opened: {_one_line(error)}") from None
        warm = _Order("一", 2, 0.0, 1, 1.0, 0, (), False, ("lark_grammar", 'start: "一"\n'), False, False, False)
        self._generate(warm, None)

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """Answer each request: with its text or with its own error."""
        responses = []
        for request in requests:
            try:
                order = self._order(request)
                responses.append(self._response(order, self._generate(order, request)))
            except Exception as error:
                responses.append(_failure(error))
        return responses

    def finalize(self) -> None:
        """Release the model."""
        del self._model

    def _generate(self, order: _Order, request: Any) -> _Answer:
        generator = self._begin(order)
        matcher = None if order.guide is None else self._matcher(*order.guide)
        made: list[int] = []
        logprob = 0.0
        while not generator.is_done():
            _go_on(request)
            token, chance = self._next(generator, matcher, with_chance=order.logprob)
            logprob += chance
            if token == self._eos:
                return _Answer(self._tokenizer.decode(made), STOP, "", logprob)
            made.append(token)
            if matcher is not None and _complete(matcher, token):
                return _Answer(self._tokenizer.decode(made), STOP, "", logprob)
            text = self._tokenizer.decode(made) if order.stops else ""
            found = [(text.index(stop), stop) for stop in order.stops if stop in text]
            if found:
                place, stop = min(found)
                return _Answer(text[:place], STOP, stop, logprob)
        return _Answer(self._tokenizer.decode(made), LENGTH, "", logprob)

    def _begin(self, order: _Order) -> og.Generator:
        ids = [self._bos, *self._tokenizer.encode(order.text, add_special_tokens=False).ids]
        if len(ids) > self._max_input:
            raise ValueError(f"text_input has {len(ids)} tokens, more than {self._max_input}")
        options: dict[str, Any] = {"max_length": len(ids) + order.max_tokens, "do_sample": order.temperature > 0}
        if order.temperature > 0:
            options |= {"temperature": order.temperature, "top_k": order.top_k, "top_p": order.top_p}
            options["random_seed"] = order.seed
        parameters = og.GeneratorParams(self._model)
        parameters.set_search_options(**options)
        generator = og.Generator(self._model, parameters)
        generator.append_tokens(np.asarray([ids], np.int32))
        return generator

    def _next(self, generator: og.Generator, matcher: LLMatcher | None, *, with_chance: bool) -> tuple[int, float]:
        """The next token, of those that the grammar admits, and the logarithm of the model's own chance for it."""
        scores = np.zeros((1, 0), np.float32)
        if matcher is not None or with_chance:
            scores = np.array(generator.get_logits(), np.float32).reshape(1, -1)
        if matcher is not None:
            confined = scores.copy()
            fill_next_token_bitmask(matcher, self._mask, 0)
            apply_token_bitmask_inplace(confined, self._mask)
            generator.set_logits(confined.reshape(1, 1, -1))
        generator.generate_next_token()
        token = int(generator.get_next_tokens()[0])
        if not with_chance:
            return token, 0.0
        shifted = scores[0] - scores.max()
        return token, float(shifted[token] - np.log(np.exp(shifted).sum()))

    def _matcher(self, kind: str, guide: str) -> LLMatcher:
        matcher = LLMatcher(self._words, GUIDES[kind](guide))
        if matcher.is_error():
            raise ValueError(f"guided_decoding_guide is not valid: {_one_line(ValueError(matcher.get_error()))}")
        return matcher

    def _order(self, request: Any) -> _Order:
        for name, neutral in NEUTRAL.items():
            value = _scalar(request, name, neutral[0])
            if value not in neutral:
                raise ValueError(f"{name}={value} is not served by this backend")
        texts = _strings(request, "text_input")
        if len(texts) != 1:
            raise ValueError(f"text_input holds {len(texts)} texts; send one a request")
        max_tokens = int(_scalar(request, "sampling_param_max_tokens", self._max_output))
        if not 1 <= max_tokens <= self._max_output:
            raise ValueError(f"sampling_param_max_tokens={max_tokens} is not between 1 and {self._max_output}")
        temperature = float(_scalar(request, "sampling_param_temperature", 0.0))
        top_p = float(_scalar(request, "sampling_param_top_p", 1.0))
        top_k = int(_scalar(request, "sampling_param_top_k", 0))
        if not (0 <= temperature < np.inf and 0 < top_p <= 1 and top_k >= 0):
            raise ValueError("wanted temperature >= 0, 0 < top_p <= 1 and top_k >= 0")
        return _Order(
            text=texts[0],
            max_tokens=max_tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=int(_scalar(request, "sampling_param_seed", 0)),
            stops=tuple(stop for stop in _strings(request, "sampling_param_stop") if stop),
            echo=not bool(_scalar(request, "sampling_param_exclude_input_from_output", False)),
            guide=_guide(request),
            finish_reason=bool(_scalar(request, "return_finish_reason", False)),
            stop_reason=bool(_scalar(request, "return_stop_reason", False)),
            logprob=bool(_scalar(request, "return_cumulative_logprob", False)),
        )

    def _response(self, order: _Order, answer: _Answer) -> Any:
        text = order.text + answer.text if order.echo else answer.text
        tensors = [_text("text_output", text)]
        if order.finish_reason and "finish_reason" in self._outputs:
            tensors.append(_text("finish_reason", answer.finish_reason))
        if order.stop_reason and "stop_reason" in self._outputs:
            tensors.append(_text("stop_reason", answer.stop_reason))
        if order.logprob and "cumulative_logprob" in self._outputs:
            tensors.append(pb_utils.Tensor("cumulative_logprob", np.asarray([answer.logprob], np.float32)))
        return pb_utils.InferenceResponse(output_tensors=tensors)


def _guide(request: Any) -> tuple[str, str] | None:
    kinds, guides = _strings(request, "guided_decoding_guide_type"), _strings(request, "guided_decoding_guide")
    if not kinds and not guides:
        return None
    if len(kinds) != 1 or len(guides) != 1:
        raise ValueError("guided_decoding_guide_type and guided_decoding_guide go together, one text each")
    if kinds[0] not in GUIDES:
        raise ValueError(f"guided_decoding_guide_type={kinds[0]!r} is none of {', '.join(GUIDES)}")
    if not 0 < len(guides[0]) <= MAX_GUIDE_CHARS:
        raise ValueError(f"guided_decoding_guide has {len(guides[0])} characters; 1 to {MAX_GUIDE_CHARS} are taken")
    return kinds[0], guides[0]


def _complete(matcher: LLMatcher, token: int) -> bool:
    """Tell the grammar of a token; whether nothing may follow it but the end."""
    matcher.consume_token(token)
    if matcher.is_error():
        raise ValueError(f"guided_decoding_guide: {_one_line(ValueError(matcher.get_error()))}")
    return bool(matcher.is_stopped())


def _go_on(request: Any) -> None:
    if request is not None and request.is_cancelled():
        raise _CancelledError


def _scalar(request: Any, name: str, default: Any) -> Any:
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    if tensor is None:
        return default
    values = tensor.as_numpy().reshape(-1)
    if len(values) != 1:
        raise ValueError(f"{name} holds {len(values)} values; one is wanted")
    return values[0].item()


def _strings(request: Any, name: str) -> list[str]:
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    if tensor is None:
        return []
    try:
        return [value.decode("utf-8") for value in tensor.as_numpy().reshape(-1)]
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}") from None


def _text(name: str, text: str) -> Any:
    return pb_utils.Tensor(name, np.asarray([text.encode("utf-8")], dtype=np.object_))


def _count(parameters: Mapping[str, str], name: str, default: int) -> int:
    value = parameters.get(name, str(default))
    if not value.isdigit() or int(value) < 1:
        raise pb_utils.TritonModelException(f"parameter {name} must be a whole number above 0, not '{value}'")
    return int(value)


def _one_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:MAX_ERROR_CHARS]


def _failure(error: Exception) -> Any:
    if isinstance(error, _CancelledError):
        detail = pb_utils.TritonError("the request was cancelled", pb_utils.TritonError.CANCELLED)
    else:
        # What config.pbtxt lets through is checked here: it is the content that is wrong.
        detail = pb_utils.TritonError(_one_line(error), pb_utils.TritonError.INVALID_ARG)
    return pb_utils.InferenceResponse(output_tensors=[], error=detail)
