"""One thread of linear algebra while many small systems are solved, one after the other.

OpenBLAS divides products of some hundred rows among all cores, and its threads wait for each other by spinning. numpy
and scipy bring a library each, whose threads wait for those of the other too: where other processes want the cores, an
optimal command of two joints took ten to thirteen times the processor time. The command line asks for one thread
before numpy is imported; within Python that is too late, and not ours to say for the whole process.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

_NAMES = [(a, b) for a in ("scipy_openblas", "openblas") for b in ("", "64_")]


class _Library(NamedTuple):
    """How many threads a library has, and how it is told."""

    threads: Callable[[], int]
    use: Callable[[int], None]


@contextmanager
def one_thread() -> Iterator[None]:
    """Give the linear algebra of numpy and scipy one thread, and what it had before in the end.

    Of the libraries in their wheels; with any other nothing is done. The number is that of the whole process: where
    several threads of Python are inside, the last one to leave restores it.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


_lock = threading.Lock()
_before: list[int] = []
_inside = 0


def _enter() -> None:
    global _inside
    with _lock:
        _inside += 1
        if _inside == 1:
            _before[:] = [one.threads() for one in libraries()]
            for one in libraries():
                one.use(1)


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0:
            for one, count in zip(libraries(), _before, strict=True):
                one.use(count)


@cache
def libraries() -> tuple[_Library, ...]:
    """Return the OpenBLAS of numpy and that of scipy, where they are in their wheels."""
    import scipy.linalg  # noqa: F401 - its library is loaded with it

    found = []
    for package in ("numpy", "scipy"):
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            continue
        place = Path(spec.origin).parent
        for folder in (place.parent / f"{package}.libs", place / ".dylibs"):
            found += [one for path in sorted(folder.glob("*openblas*")) if (one := _opened(path)) is not None]
    return tuple(found)


def _opened(path: Path) -> _Library | None:
    try:
        library = ctypes.CDLL(str(path))
    except OSError:
        return None
    for first, last in _NAMES:
        try:
            count, use = library[f"{first}_get_num_threads{last}"], library[f"{first}_set_num_threads{last}"]
        except AttributeError:  # of another name in this one
            continue
        count.argtypes, count.restype, use.argtypes, use.restype = [], ctypes.c_int, [ctypes.c_int], None
        return _Library(count, use)
    return None
