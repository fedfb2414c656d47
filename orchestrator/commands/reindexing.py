"""How `trias ingest reindex` runs: which version, which library, and what becomes live with it."""

from __future__ import annotations

from rich.console import Console
from rich.progress import Progress

from export.live import read_live
from export.manifest import read_manifest
from export.switching import LiveModel, LiveRules
from ingest.reindex import Reindex
from orchestrator.commands.library_access import EMBEDDER, on_signal, open_embedder, open_sink
from orchestrator.commands.model_serving import callers_triton
from orchestrator.errors import ConfigurationError
from orchestrator.inference.repository import versions_of
from orchestrator.settings import Settings

__all__ = ["Reindexing"]


class Reindexing:
    """One run.

    Args:
        settings: of everything.
        console: says what happens.
        bar: shows how far it is.
    """

    def __init__(self, settings: Settings, console: Console, bar: Progress) -> None:
        self._settings = settings
        self._console = console
        self._bar = bar
        self._folder = settings.paths.model_repository / EMBEDDER

    async def run(self, *, to: str, version: int | None) -> bool:
        """Embed, switch, and make the version live.

        Args:
            to: the address of a server that owns the library; empty for the usual one, or none.
            version: of the embedder; None for the candidate, or else the live one.

        Returns:
            Whether the new vectors answer.
        """
        chosen = self._version(version)
        fingerprint = read_manifest(self._folder / chosen).fingerprint
        async with open_sink(self._settings, to) as sink, open_embedder(self._settings, self._console) as embedder:
            former = await sink.fingerprint()
            if not former:
                raise ConfigurationError(
                    f"{sink.target[0].upper()}{sink.target[1:]} holds no document yet.",
                    hint="Documents are embedded by the live version when they come in: trias ingest PATH.",
                )
            self._say(f"in {sink.target}: embedder version {chosen} ({fingerprint[:12]})")
            task = self._bar.add_task("documents", total=None)
            run = Reindex(
                self._settings.ingest,
                sink,
                embedder,
                fingerprint,
                on_total=lambda total: self._bar.update(task, total=total),
                on_document=lambda _clauses: self._bar.advance(task),
            )
            with on_signal(run.stop):
                report = await run.run()
        self._say(f"{report.documents} documents with {report.clauses} clauses were embedded")
        if report.switched:
            if former != fingerprint:
                self._say(f"switched from {former[:12]} to {fingerprint[:12]}")
            await self._make_live(chosen, fingerprint)
        return report.switched

    def _version(self, wanted: int | None) -> str:
        there = versions_of(self._settings.paths.model_repository, EMBEDDER)
        pointer = read_live(self._folder)
        if wanted is not None:
            if str(wanted) not in there:
                raise ConfigurationError(
                    f"--version {wanted}: there is no such version of {EMBEDDER}.", hint="trias models list"
                )
            return str(wanted)
        if pointer is not None:
            return pointer.candidate or pointer.live
        if not there:
            raise ConfigurationError("There is no embedder.", hint="Make it with `trias models build`.")
        return there[-1]

    async def _make_live(self, version: str, fingerprint: str) -> None:
        """The pointer follows the index: from now on new libraries are filled by this version too."""
        async with callers_triton(self._settings, EMBEDDER) as serving:
            model = LiveModel(self._folder, serving, LiveRules(), progress=self._say)
            async with model.lock():
                pointer = read_live(self._folder)
                if pointer is None or pointer.live == version:
                    return
                await model.switch(pointer, pointer.promoting(version, fingerprint), watch=False)
        self._say(f"embedder version {version} is live")

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)
