"""How many texts are sent to the embedder at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from orchestrator.inference.models import Embedding

__all__ = ["embed_in_parts"]


async def embed_in_parts(
    embed: Callable[[list[str]], Awaitable[Embedding]], texts: list[str], rows: int
) -> list[Embedding]:
    """What ``embed`` gives for ``texts``, at most ``rows`` of them a call, one call after the other."""
    return [await embed(texts[start : start + rows]) for start in range(0, len(texts), rows)]
