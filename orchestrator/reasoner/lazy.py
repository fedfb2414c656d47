"""An attribute that is worked out when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["lazy"]

_Value = TypeVar("_Value")


class lazy(Generic[_Value]):  # noqa: N801 (used as the decorator that it is)
    """Like `functools.cached_property` of Python 3.12, without the lock that earlier versions take.

    The lock costs more than most of what is worked out here. Two threads that ask at once both work it out, and get
    equal values.
    """

    def __init__(self, work: Callable[[Any], _Value]) -> None:
        self._work = work
        self._name = work.__name__
        self.__doc__ = work.__doc__

    @overload
    def __get__(self, owner: None, kind: type[Any]) -> lazy[_Value]: ...
    @overload
    def __get__(self, owner: object, kind: type[Any]) -> _Value: ...
    def __get__(self, owner: object | None, kind: type[Any]) -> lazy[_Value] | _Value:
        if owner is None:
            return self
        # From now on the attribute is found in the object itself, and this is not called again.
        value = owner.__dict__[self._name] = self._work(owner)
        return value
