"""Whether the arrays of a run fit into memory, asked before they are made."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ..errors import OutOfMemory


def available() -> float:
    """Return the bytes that this process may still take: of the machine, its group, its own limit; inf if unknown."""
    return min(_machine(), _group(), _own_limit())


@contextlib.contextmanager
def room_for(numbers: float, what: str, remedy: str) -> Iterator[None]:
    """Refuse to make arrays of so many numbers in all that do not fit; failing all the same raises the same error.

    Raises
    ------
    OutOfMemory
        With what is needed, what is there, and the remedy.
    """
    needed, free = 8.0 * numbers, available()
    told = f"{what} takes about {_bytes(needed)} of memory"
    if needed > free:
        raise OutOfMemory(f"{told}, more than the {_bytes(free)} that are free; {remedy}")
    try:
        yield
    except MemoryError as error:
        raise OutOfMemory(f"{told}, which there is not; {remedy}") from error


def _bytes(size: float) -> str:
    return f"{size / 1e9:.3g} GB" if size >= 1e9 else f"{size / 1e6:.3g} MB"


def _machine() -> float:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * float(line.split()[1])
    return float("inf")


def _group() -> float:
    """Return what a container or a batch system leaves (control groups, version 2)."""
    place = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):
        most, used = ((place / f"memory.{name}").read_text() for name in ("max", "current"))
        return max(0.0, float(most) - float(used))  # "max" is not a number: no limit
    return float("inf")


def _own_limit() -> float:
    """Return what `ulimit -v` leaves."""
    try:
        import resource  # not on Windows
    except ImportError:
        return float("inf")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return float("inf")
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return max(0.0, limit - pages * float(resource.getpagesize()))
    return float(limit)
