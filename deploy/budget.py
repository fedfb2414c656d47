"""What memory a slice's models take, line by line, before anything is started on it.

These are reckonings from the architectures' sizes, not measurements. Bytes of an encoder's weights and of its largest
batch must fit under its `gpu_mem_limit`, which is what it can take at most; the limits and the processes' own needs
must fit the slice. TensorRT-LLM takes its weights, then a share of what is left for the KV cache: the cache must hold
at least the sequences that it is to decode together. Publishing loads a new version beside the live one, and Triton
takes a changed configuration by loading each version anew beside itself: all of it counts four times, where the slice
does not say otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

from deploy.devices import GPUS
from deploy.partition import Partition, Slice
from export.parts import LlmBuild, Sizes
from export.spec import AnySpec, EncoderSpec, GenerativeSpec
from orchestrator.errors import ConfigurationError

__all__ = ["Budget", "Line", "check_budgets", "reckon"]

MIB = 1024 * 1024
BYTES = {"fp32": 4.0, "fp16": 2.0, "bf16": 2.0, "int8": 1.0, "nbits8": 1.125, "nbits4": 0.625}
# Of an encoder's largest batch: scores and their softmax live at once; states before and after, and q, k, v.
SCORE_BUFFERS, STATE_BUFFERS = 2, 5
# The engine's own buffers beside weights and cache: a forward pass of its largest batch, CUDA graphs, sampling.
ENGINE_MB = 1024
TOKEN_TYPES = 2
# Live and new, and each once more while Triton takes a configuration in which only a parameter is another.
COPIES_WHILE_PUBLISHING = 4
# Of every six layers of Gemma 3, one attends to everything and five to a window.
NORMS_A_LAYER = 4


@dataclass(frozen=True, slots=True)
class Line:
    """One item: what it is, how it was reckoned, and how many MiB it takes."""

    item: str
    arithmetic: str
    mb: int


@dataclass(frozen=True, slots=True)
class Budget:
    """A slice's items against its memory.

    Attributes:
        lines: what adds up to what is needed.
        details: what explains lines: they are within them, not beside them.
    """

    slice: str
    device: str
    memory_mb: int
    lines: tuple[Line, ...]
    details: tuple[Line, ...]
    problems: tuple[str, ...]

    @property
    def needed_mb(self) -> int:
        """The sum of the lines."""
        return sum(line.mb for line in self.lines)


def reckon(partition: Partition) -> tuple[Budget, ...]:
    """The budget of every slice that is on a GPU."""
    return tuple(_of(partition, part) for part in partition.slices if part.gpu is not None)


def check_budgets(partition: Partition) -> tuple[Budget, ...]:
    """`reckon`, or stop where something does not fit.

    Raises:
        ConfigurationError: names the slice, what it needs and what it has.
    """
    budgets = reckon(partition)
    problems = [f"slice {budget.slice}: {problem}" for budget in budgets for problem in budget.problems]
    if problems:
        raise ConfigurationError(
            f"The partition {partition.name} does not fit: {'; '.join(problems)}.",
            hint="Take a larger slice, or lower max_batch_size, max_length or memory_mb in the model's spec.",
        )
    return budgets


def _of(partition: Partition, part: Slice) -> Budget:
    assert part.gpu is not None
    gpu = GPUS[partition.gpus[part.gpu]]
    memory = gpu.profiles[part.profile].memory_mb if part.profile else gpu.memory_mb
    lines = [Line("CUDA context and workspaces of Triton", "context_mb", partition.context_mb)]
    details: list[Line] = []
    problems: list[str] = []
    for name, spec in part.specs.items():
        if isinstance(spec, EncoderSpec):
            own, inside, wrong = _encoder(name, spec, copies=_copies(part))
            lines += own
            details += inside
            problems += wrong
            continue
        assert isinstance(spec, GenerativeSpec)
        for copy in range(1, _copies(part) + 1):
            called = name if copy == 1 else f"{name} (copy {copy})"
            context = partition.python_context_mb
            lines.append(Line(f"{called}: CUDA context of its process", "python_context_mb", context))
            own, inside, wrong = _generator(called, spec, memory - sum(line.mb for line in lines))
            lines += own
            problems += wrong
            details += inside if copy == 1 else []
    needed = sum(line.mb for line in lines)
    if needed > memory:
        problems.append(f"{needed} MiB are needed and {memory} MiB are there, {needed - memory} too few")
    device = f"{gpu.product} {part.profile}" if part.profile else gpu.product
    return Budget(part.name, device, memory, tuple(lines), tuple(details), tuple(problems))


def _copies(part: Slice) -> int:
    return COPIES_WHILE_PUBLISHING if part.two_versions else 1


def _sizes(name: str, spec: AnySpec) -> Sizes:
    if spec.sizes is None:
        raise ConfigurationError(f"The model spec {name} tells no sizes, so its memory cannot be reckoned.")
    return spec.sizes


def _encoder(name: str, spec: EncoderSpec, *, copies: int) -> tuple[list[Line], list[Line], list[str]]:
    if spec.gpu is None:
        raise ConfigurationError(
            f"The model spec {name} has no `gpu` part, so nothing caps its memory.", hint="Add gpu.memory_mb to it."
        )
    sizes, precision = _sizes(name, spec), spec.precision.gpu
    width = BYTES[precision]
    words = (sizes.vocabulary + sizes.positions + TOKEN_TYPES) * sizes.hidden
    layer = 4 * sizes.hidden**2 + 2 * sizes.hidden * sizes.intermediate + 9 * sizes.hidden + sizes.intermediate
    parameters = words + sizes.layers * layer
    weights = Line(
        f"{name}: weights",
        f"{parameters / 1e6:.0f} M parameters × {width:g} bytes ({precision})",
        _mb(parameters * width),
    )
    rows, length = spec.serving.max_batch_size, spec.max_length
    scores = SCORE_BUFFERS * rows * sizes.heads * length**2 * width
    states = rows * length * (STATE_BUFFERS * sizes.hidden + sizes.intermediate) * width
    batch = Line(
        f"{name}: largest batch",
        f"{rows} × {length} tokens: scores {SCORE_BUFFERS} × {rows} × {sizes.heads} heads × {length}² × {width:g} B, "
        f"states {rows} × {length} × ({STATE_BUFFERS} × {sizes.hidden} + {sizes.intermediate}) × {width:g} B",
        _mb(scores + states),
    )
    count, cap = spec.serving.instances, spec.gpu.memory_mb
    problems = []
    if weights.mb + batch.mb > cap:
        problems.append(
            f"{name} needs {weights.mb} MiB of weights and {batch.mb} MiB for its largest batch, and its gpu.memory_mb "
            f"is {cap}"
        )
    arena = Line(f"{name}: arena", f"{copies} copies × {count} × gpu_mem_limit {cap} MiB", copies * count * cap)
    return [arena], [weights, batch], problems


def _generator(name: str, spec: GenerativeSpec, free_mb: int) -> tuple[list[Line], list[Line], list[str]]:
    sizes, build, serving = _sizes(name, spec), spec.build, spec.serving
    assert build is not None
    width = BYTES[spec.precision]
    head = sizes.head_dim or sizes.hidden // sizes.heads
    kv_heads = sizes.kv_heads or sizes.heads
    attention = sizes.hidden * head * (2 * sizes.heads + 2 * kv_heads)
    layer = attention + 3 * sizes.hidden * sizes.intermediate + NORMS_A_LAYER * sizes.hidden
    tables = sizes.vocabulary * sizes.hidden * (1 if sizes.tied else 2)
    parameters = tables + sizes.layers * layer
    weights = Line(
        f"{name}: weights",
        f"{parameters / 1e6:.0f} M parameters × {width:g} bytes ({spec.precision})",
        _mb(parameters * width),
    )
    engine = Line(f"{name}: engine", "buffers of one forward pass, CUDA graphs, sampling (allowance)", ENGINE_MB)
    tokens = serving.max_input_tokens + serving.max_output_tokens
    kept = _kept_tokens(build, sizes.layers, tokens)
    a_token = 2 * kv_heads * head * width
    cache = _mb(serving.max_batch_size * kept * a_token)
    wanted = Line(
        f"{name}: KV cache of {serving.max_batch_size} sequences",
        f"{serving.max_batch_size} × {kept} tokens over all layers ({tokens} each, {sizes.layers} layers) "
        f"× 2 × {kv_heads} heads × {head} × {width:g} B",
        cache,
    )
    left = max(0, free_mb - weights.mb - engine.mb)
    given = int(left * build.kv_cache_share)
    share = Line(f"{name}: KV cache", f"{build.kv_cache_share:g} of the {left} MiB that are left", given)
    problems = []
    if given < cache:
        problems.append(
            f"{name} has {given} MiB for its KV cache ({share.arithmetic}, after {weights.mb} MiB of weights), and "
            f"{serving.max_batch_size} sequences of {tokens} tokens need {cache} MiB"
        )
    return [weights, engine, share], [wanted], problems


def _kept_tokens(build: LlmBuild, layers: int, tokens: int) -> int:
    """Tokens whose keys and values are kept, over all layers: a layer with a window keeps no more than that."""
    windows = build.attention_windows or (tokens,)
    return sum(min(tokens, windows[layer % len(windows)]) for layer in range(layers))


def _mb(size: float) -> int:
    return int(-(-size // MIB))
