"""Protocols that are asked for dozens of times in every run, of which Python 3.11 collects the names in every check."""

from __future__ import annotations

from abc import ABCMeta
from typing import Any, _ProtocolMeta


class Ability(_ProtocolMeta):
    """The metaclass of a protocol that knows its names.

    Something has an ability by having its attributes, as with any protocol that can be checked in a run. A method that
    is None is none.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        own = vars(cls)
        if not own.get("_is_protocol", False) or cls in type(instance).__mro__:
            return ABCMeta.__instancecheck__(cls, instance)
        asked: tuple[tuple[str, bool], ...] | None = own.get("_abc_asked")
        if asked is None:
            asked = tuple((name, callable(getattr(cls, name, None))) for name in asked_of(cls))
            cls._abc_asked = asked  # names that begin so are none of the protocol's
        for name, method in asked:
            try:
                found = getattr(instance, name)
            except AttributeError:
                return False
            if method and found is None:
                return False
        return True


def asked_of(protocol: type) -> list[str]:
    """Return the names that a protocol asks for, with those of the protocols that it extends."""
    bases = [base for base in protocol.__mro__ if vars(base).get("_is_protocol", False) and base.__module__ != "typing"]
    every = {name: None for base in bases for name in (*vars(base), *vars(base).get("__annotations__", ()))}
    return [name for name in every if not name.startswith("_") or name == "__call__"]
