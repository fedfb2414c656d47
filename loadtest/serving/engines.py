"""The ways to run the model, each in a worker process of its own.

What an engine needs is imported when it is opened: a worker may run in an environment that has nothing else.
Every engine offers the ways in which it can do a load; the worker tries them and takes the quickest.
"""

from __future__ import annotations

import importlib.metadata
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from loadtest.serving.loads import Kind, Load

__all__ = ["ENGINES", "TASKS", "Engine", "Opener", "Vectors", "Way", "versions_of"]

Vectors = npt.NDArray[np.float32]
# Texts in one run of a graph or encoder, where a call brings more: what is spent on padding grows with it.
RUN_ROWS = (32, 8)
# Nothing is lost by waiting: the bench counts what comes, however late.
CALL_TIMEOUT_S = 60.0
TASKS = 0


@dataclass(frozen=True, slots=True)
class Way:
    """One way to do a load.

    Attributes:
        name: as the report shows it.
        call: texts → vectors, float32 [texts, dimension]; or an awaitable of them.
        at_once: how many threads may call at the same time; `TASKS` where the call is awaited, by as many as like.
        enter: to be called once in each thread that calls.
    """

    name: str
    call: Callable[[list[str]], Vectors | Awaitable[Vectors]]
    at_once: int = 1
    enter: Callable[[], None] = lambda: None


class Engine(Protocol):
    """A system that is open."""

    libraries: tuple[str, ...]

    def ways(self, load: Load) -> list[Way]:
        """How it can do ``load``."""
        ...


Opener = Callable[[AsyncExitStack, int, Mapping[str, Any]], Awaitable[Engine]]


class TritonEngine:
    """The product's own client, calling a Triton that runs: options ``address``, ``repository``."""

    libraries: tuple[str, ...] = ("tritonclient", "tokenizers", "nvidia-pytriton")

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder

    @classmethod
    async def open(cls, stack: AsyncExitStack, _threads: int, options: Mapping[str, Any]) -> Engine:
        """Connect, with the product's settings; but no vector is kept, for the bench asks the same again."""
        from orchestrator.inference.embedder import TritonEmbedder  # noqa: PLC0415
        from orchestrator.settings import InferenceSettings  # noqa: PLC0415

        settings = InferenceSettings(endpoints={"*": options["address"]}, cache_entries=0)
        embedder = await stack.enter_async_context(TritonEmbedder(settings, Path(options["repository"])))
        await embedder.fingerprint()  # reads the tokenizer
        return cls(embedder)

    def ways(self, load: Load) -> list[Way]:
        """As it is served."""
        return [Way("as served", partial(self._embed, load.kind), TASKS)]

    async def _embed(self, kind: Kind, texts: list[str]) -> Vectors:
        vectors: Vectors = (await self._embedder.embed(texts, kind=kind, timeout_s=CALL_TIMEOUT_S)).vectors
        return vectors


class GraphEngine:
    """onnxruntime in this process: options ``graph``, ``tokenizer``, ``prefixes``, ``max_length``, ``output``."""

    libraries: tuple[str, ...] = ("onnxruntime", "tokenizers")

    def __init__(self, threads: int, options: Mapping[str, Any]) -> None:
        import onnxruntime  # noqa: PLC0415
        from tokenizers import Tokenizer  # noqa: PLC0415

        self._prefixes: Mapping[str, str] = options["prefixes"]
        self._output = options["output"]
        self._tokenizer = Tokenizer.from_file(options["tokenizer"])
        self._tokenizer.enable_truncation(options["max_length"])
        self._tokenizer.no_padding()
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads)

        def session(count: int) -> Any:
            settings = onnxruntime.SessionOptions()
            settings.intra_op_num_threads, settings.inter_op_num_threads = count, 1
            return onnxruntime.InferenceSession(options["graph"], settings, providers=["CPUExecutionProvider"])

        self._narrow = session(1)
        self._wide = self._narrow if threads == 1 else session(threads)

    @classmethod
    async def open(cls, stack: AsyncExitStack, threads: int, options: Mapping[str, Any]) -> Engine:
        """Open the graph with one thread a run, and with all of them."""
        engine = cls(threads, options)
        stack.callback(engine._pool.shutdown)
        return engine

    def ways(self, load: Load) -> list[Way]:
        """Runs of one thread side by side, or one run of all threads at a time; passages also by padded batches."""
        kind = load.kind
        if load.batch > 1:
            padded = [
                Way(f"{rows} rows a run, padded", partial(self._padded, kind, self._wide, rows)) for rows in RUN_ROWS
            ]
            return [Way("row by row, a run a core", partial(self._by_row, kind)), *padded]
        ways = [Way("a run a core", partial(self._padded, kind, self._narrow, 1), at_once=self._threads)]
        if self._threads > 1:
            ways.append(Way("one run on all cores", partial(self._padded, kind, self._wide, 1)))
        return ways

    def _ids(self, kind: Kind, texts: Sequence[str]) -> list[list[int]]:
        prefix = self._prefixes[kind]
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast([prefix + text for text in texts])]

    def _run(self, session: Any, rows: Sequence[list[int]]) -> Vectors:
        width = max(map(len, rows))
        ids, mask = np.ones((2, len(rows), width), np.int64)  # 1 is <pad>
        mask[:] = 0
        for place, row in enumerate(rows):
            ids[place, : len(row)], mask[place, : len(row)] = row, 1
        vectors: Vectors = session.run([self._output], {"input_ids": ids, "attention_mask": mask})[0]
        return vectors

    def _by_row(self, kind: Kind, texts: list[str]) -> Vectors:
        runs = self._pool.map(lambda row: self._run(self._narrow, [row]), self._ids(kind, texts))
        return np.concatenate(list(runs))

    def _padded(self, kind: Kind, session: Any, rows: int, texts: list[str]) -> Vectors:
        ids = self._ids(kind, texts)
        if len(ids) == 1:
            return self._run(session, ids)
        # Like lengths go together, as every library here does it.
        order = sorted(range(len(ids)), key=lambda place: -len(ids[place]))
        parts = [order[start : start + rows] for start in range(0, len(order), rows)]
        vectors = np.concatenate([self._run(session, [ids[place] for place in part]) for part in parts])
        return np.asarray(vectors[np.argsort(order)])


class SentenceTransformersEngine:
    """sentence-transformers on the checkpoint, float32: options ``checkpoint``, ``prefixes``."""

    libraries: tuple[str, ...] = ("sentence-transformers", "transformers", "torch")

    def __init__(self, threads: int, options: Mapping[str, Any]) -> None:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415

        self._model = SentenceTransformer(options["checkpoint"], device="cpu", local_files_only=True)
        self._prefixes: Mapping[str, str] = options["prefixes"]
        self._threads = threads

    @classmethod
    async def open(cls, _stack: AsyncExitStack, threads: int, options: Mapping[str, Any]) -> Engine:
        """Load the model; it pools by mean where its folder says nothing."""
        return cls(threads, options)

    def ways(self, load: Load) -> list[Way]:
        """On all cores or on one, concurrent queries on one each; passages in its usual batch or a smaller one.

        More threads aren't always quicker: torch's wait for each other, which costs most where cores are busy.
        """
        import torch  # noqa: PLC0415

        counts = {"all cores": (self._threads, 1), "one core": (1, self._threads)}  # threads a call, calls at once
        if self._threads == 1:
            del counts["one core"]
        return [
            Way(
                f"a call on {cores}, batch_size={rows}",
                partial(self._encode, load.kind, rows),
                at_once=at_once,
                enter=partial(torch.set_num_threads, threads),
            )
            for cores, (threads, at_once) in counts.items()
            for rows in (RUN_ROWS if load.batch > 1 else (1,))
        ]

    def _encode(self, kind: Kind, rows: int, texts: list[str]) -> Vectors:
        prefix = self._prefixes[kind]
        vectors: Vectors = self._model.encode(
            [prefix + text for text in texts], batch_size=rows, normalize_embeddings=True, show_progress_bar=False
        )
        return vectors


class InfinityEngine:
    """infinity's engine (its server without HTTP) on the checkpoint, float32: options as sentence-transformers'."""

    libraries: tuple[str, ...] = ("infinity-emb", "sentence-transformers", "transformers", "torch")

    def __init__(self, engines: Mapping[int, Any], prefixes: Mapping[str, str]) -> None:
        self._engines = engines
        self._prefixes = prefixes

    @classmethod
    async def open(cls, stack: AsyncExitStack, threads: int, options: Mapping[str, Any]) -> Engine:
        """Start an engine for each batch size."""
        import torch  # noqa: PLC0415
        from infinity_emb import AsyncEmbeddingEngine, EngineArgs  # noqa: PLC0415

        torch.set_num_threads(threads)
        engines = {}
        for rows in RUN_ROWS:
            arguments = EngineArgs(
                model_name_or_path=options["checkpoint"],
                batch_size=rows,
                engine="torch",
                device="cpu",
                dtype="float32",
                model_warmup=False,
            )
            engines[rows] = AsyncEmbeddingEngine.from_args(arguments)
            await stack.enter_async_context(engines[rows])
        logging.getLogger("infinity_emb").setLevel(logging.WARNING)
        return cls(engines, options["prefixes"])

    def ways(self, load: Load) -> list[Way]:
        """It batches what callers bring; in its usual batch or a smaller one."""
        if load.callers == 1 and load.batch == 1:
            return [Way("batch_size=32", partial(self._embed, load.kind, RUN_ROWS[0]), TASKS)]
        return [Way(f"batch_size={rows}", partial(self._embed, load.kind, rows), TASKS) for rows in RUN_ROWS]

    async def _embed(self, kind: Kind, rows: int, texts: list[str]) -> Vectors:
        prefix = self._prefixes[kind]
        vectors, _tokens = await self._engines[rows].embed([prefix + text for text in texts])
        return np.asarray(vectors, np.float32)


ENGINES: Mapping[str, Opener] = {
    "triton": TritonEngine.open,
    "graph": GraphEngine.open,
    "sentence-transformers": SentenceTransformersEngine.open,
    "infinity": InfinityEngine.open,
}


def versions_of(engine: Engine) -> dict[str, str]:
    """Of the libraries that it runs on."""
    return {name: importlib.metadata.version(name) for name in engine.libraries}
