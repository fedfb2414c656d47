"""What the writer hands to the verifier: sentences, and where each is said to come from."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.reasoner.evidence import Source
from orchestrator.reasoner.rulings import Ruling
from orchestrator.reasoner.sentences import Sentence

__all__ = ["Draft", "Support"]


@dataclass(frozen=True)
class Support:
    """A sentence of a source that a draft leans on."""

    source: Source
    sentence: Sentence


@dataclass(frozen=True)
class Draft:
    """One sentence of an answer, not yet verified.

    Attributes:
        text: without citation marks.
        supports: where it comes from; none for a notice.
        frames: the writer's own words in ``text`` (是。, 关于…, the names and dates of documents): what is left when
            they are taken away must stand in the sources.
        ruling: the ruling that it carries.
    """

    text: str
    supports: tuple[Support, ...] = ()
    frames: tuple[str, ...] = ()
    ruling: Ruling | None = None

    @property
    def is_notice(self) -> bool:
        """Whether it says something of the answer itself."""
        return not self.supports
