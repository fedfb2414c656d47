"""What a caller's deadline leaves."""

from __future__ import annotations

from typing import Any

__all__ = ["caller_seconds", "seconds_for"]

# grpc reports a call without a deadline as one with decades left, in some versions; more than a day is none.
NO_DEADLINE_S = 86_400.0


def caller_seconds(context: Any) -> float | None:
    """Seconds until the caller gives up; None where it set no deadline."""
    left: float | None = context.time_remaining()
    return None if left is None or left > NO_DEADLINE_S else left


def seconds_for(context: Any, most_s: float) -> float:
    """Seconds that one call may take: the caller's, at most ``most_s``."""
    left = caller_seconds(context)
    return most_s if left is None else min(most_s, left)
