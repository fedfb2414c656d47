"""Clients that hold connections, as context managers: leaving the block closes them."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

__all__ = ["Closing"]

Client = TypeVar("Client", bound="Closing")


class Closing:
    """What has a `close` that must be awaited."""

    async def close(self) -> None:
        """Give up the connections."""
        raise NotImplementedError

    async def __aenter__(self: Client) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
