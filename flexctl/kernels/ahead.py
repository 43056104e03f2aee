"""Compiling on several processors: another process makes what will be needed, while this one makes the rest.

Both find it in the cache on disk; where both come to the same entry one waits (`cache.Turn`). The other process is
told the names of entries, line by line, and makes those that it finds under these names with the same contents.
Whatever goes wrong there is left to this process, which compiles what it does not find, and says what is wrong with
it. It ends with this one. `FLEXCTL_COMPILERS=1` does without, as processes do that others have started.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
from importlib import import_module
from multiprocessing import parent_process

from . import jit

COMPILERS = "FLEXCTL_COMPILERS"
CODE = "from flexctl.kernels import ahead; ahead.serve()"

_helpers: list[subprocess.Popen[str]] = []
_later: list[jit.Entry] = []
"""Entries needed later, in a process without another one to compile them: done where it would wait."""


def ahead(*entries: jit.Entry) -> None:
    """Let another process compile what is not in the cache, in this order, and go on.

    Parameters
    ----------
    *entries : Entry
        What will be needed.
    """
    if all(entry.loaded for entry in entries):
        return
    if not _several():
        _later.extend(entries)
        return
    for entry in entries:
        address = entry.missing()
        if address is not None:
            _ask(address)


def together(*entries: jit.Entry) -> None:
    """Load entries, those first that no other process compiles: of several that need the same none waits idly.

    Where others compile all of them, what will be needed later is compiled meanwhile.

    Parameters
    ----------
    *entries : Entry
        What is needed, in the order in which it is compiled where nobody else does.
    """
    left = list(entries)
    while left:
        free = next((entry for entry in left if not entry.elsewhere()), None)
        if free is None:
            idle = next((entry for entry in _later if not entry.loaded and not entry.elsewhere()), None)
            if idle is not None:
                idle.load()
                continue
            free = left[0]
        free.load()
        left.remove(free)


def serve() -> None:
    """Compile the entries whose addresses come in, a line each, until nothing more comes."""
    for line in sys.stdin:
        with contextlib.suppress(Exception):  # the other process comes upon it too, and says it
            module, name, index, digest = json.loads(line)
            import_module(module)
            entry = jit.made[module, name][index]
            if entry.missing() == [module, name, index, digest]:
                entry.load()


def _several() -> bool:
    told = os.environ.get(COMPILERS, "2")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return told != "1" and cores > 1 and parent_process() is None and bool(sys.executable)


def _ask(address: list[str | int]) -> None:
    with contextlib.suppress(OSError, ValueError):
        if not _helpers:
            path = os.pathsep.join(place or os.getcwd() for place in sys.path)
            _helpers.append(subprocess.Popen(
                [sys.executable, "-c", CODE], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, text=True, env={**os.environ, "PYTHONPATH": path, COMPILERS: "1"},
            ))
            atexit.register(_end)
        pipe = _helpers[0].stdin
        if pipe is not None and _helpers[0].poll() is None:
            pipe.write(json.dumps(address) + "\n")
            pipe.flush()


def _end() -> None:
    """End the other process; nobody waits for the rest of its work."""
    for helper in _helpers:
        helper.kill()
        helper.wait()
    _helpers.clear()
