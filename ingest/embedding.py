"""What of a clause is embedded, and how many texts are sent to the embedder at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from orchestrator.inference.models import Embedding
from orchestrator.knowledge.embedded_text import embedded_text as embedding_text

__all__ = ["embed_in_parts", "embedding_text"]


async def embed_in_parts(
    embed: Callable[[list[str]], Awaitable[Embedding]], texts: list[str], rows: int
) -> list[Embedding]:
    """What ``embed`` gives for ``texts``, at most ``rows`` of them a call, one call after the other."""
    return [await embed(texts[start : start + rows]) for start in range(0, len(texts), rows)]
