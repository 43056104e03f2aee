"""Why no command arrives in time: which limit is in the way, by programmes with it eased or left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..errors import ConvergenceError

EASED = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Factors of a limit that are tried, until one is enough."""
Bounds = Mapping[str, tuple[float, float]]
Possible = Callable[[Bounds, Sequence[str]], bool]


def in_the_way(possible: Possible, bounds: Bounds, plants: Sequence[str]) -> str:
    """Return what is in the way of a command that could not be found, as a sentence.

    Parameters
    ----------
    possible : callable
        Limits, plants -> whether there is a command with these.
    bounds : mapping
        Input or output -> its limits.
    plants : sequence of str
        Labels.
    """
    try:
        if not possible({}, plants):
            return _without_limits(possible, bounds, plants)
        single = [name for name in bounds if possible({k: v for k, v in bounds.items() if k != name}, plants)]
        groups: list[tuple[str, ...]] = [(name,) for name in single] or [tuple(bounds)]
        return "; ".join(_eased(possible, bounds, names, plants) for names in groups)
    except ConvergenceError as error:
        return f"which limit is in the way could not be found out ({error})"


def _without_limits(possible: Possible, bounds: Bounds, plants: Sequence[str]) -> str:
    alone = [plant for plant in plants if possible({}, (plant,))]
    if len(plants) > 1 and len(alone) == len(plants):
        return (
            "each of them alone could be brought there without limits, all of them by one command not even so: give "
            "wider bands, or fewer plants"
        )
    never = [plant for plant in plants if plant not in alone]
    return f"not even without any limit ({', '.join(never)}): give more time or wider bands"


def _eased(possible: Possible, bounds: Bounds, names: Sequence[str], plants: Sequence[str]) -> str:
    """Return by how much limits have to be eased."""
    limits = f"the limit of {names[0]}" if len(names) == 1 else f"the limits of {' and '.join(names)} together"
    for factor in EASED:
        eased = {k: (factor * low, factor * high) if k in names else (low, high) for k, (low, high) in bounds.items()}
        if possible(eased, plants):
            return f"in the way: {limits}; {factor:g} times as high would do"
    return f"in the way: {limits}; {EASED[-1]:g} times as high is not enough"
