"""How flexctl compiles: two decorators and one disk cache.

    @kernel                                 helpers, compiled within what calls them
    def double(x): ...

    @entry(types.void(float64[::1]))        what Python calls, or what is passed as a function pointer
    def run(x): ...

An entry is compiled, or loaded from the disk, when it is first called. Both work across files, and on functions that a
factory makes: they may close over kernels, entries, numbers, strings and tuples. Every edit is noticed in whatever file
a function stands that is reached from the entry (see `contents`); what was compiled before it is removed.

Compiled code lies where numba puts it (`NUMBA_CACHE_DIR`, or beside the source, or in the user's cache folder), else in
a temporary folder of the user; see `cache`. numba is imported when the first function is decorated.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .compiling import inside, interruptible
from .contents import LOCAL, Contents, Unknown, renamed

announce: Callable[[str], None] | None = None
"""Called with a line when code is compiled in this process for the first time; without it the line is logged."""

made: dict[tuple[str, str], list[Entry]] = {}
"""Entries by the module that makes them and by name, in the order in which they were made: another process finds them
by these (`ahead`)."""

_LOCK = threading.Lock()
_told: set[str] = set()
WARNED = "FLEXCTL_WARNED"
"""Variable of a worker's environment: another process has warned of the folder of compiled code."""
ANNOUNCES = "FLEXCTL_ANNOUNCES"
"""The same: this worker says when code is compiled."""
MOST = 16
"""Entries of one name that are remembered: factories that are called for every model make any number of them."""


def kernel(function: Any = None, /, **options: Any) -> Any:
    """Compile a helper within its callers; it is not kept on disk by itself.

    Parameters
    ----------
    function : callable, optional
        Without it a decorator is returned.
    **options
        Options of `numba.njit`.

    Returns
    -------
    compiled function
        numba's dispatcher.
    """
    if function is None:
        return functools.partial(kernel, **options)
    if LOCAL in function.__qualname__ or function.__closure__:
        with contextlib.suppress(Unknown):  # an entry that uses it says so
            function = renamed(function, Contents(function).digest()[:16])
    return _numba().njit(**options)(function)


def entry(
    signature: Any, /, home: str | None = None, needs: tuple[Entry, ...] = (), glue: bool = False, **options: Any
) -> Callable[[Callable[..., Any]], Entry]:
    """Compile a function with a signature on its first call, and keep it on disk.

    Parameters
    ----------
    signature : numba signature
        Types of the arguments, and of the result.
    home : str, optional
        Module whose import makes the entry, if a factory makes it: there another process finds it (`ahead`).
    needs : tuple of Entry
        What it calls by its name in machine code; see `named`.
    glue : bool
        Whether it does little but call others: it is then compiled for size, in four fifths of the time.
    **options
        Options of `numba.njit`.

    Returns
    -------
    decorator
        Turns a function into an `Entry`.
    """
    _numba()
    return lambda function: Entry(signature, function, options, home, needs, glue)


class Entry:
    """A compiled function that is loaded, or compiled, when it is first called: one run needs few of them.

    Compiled code may call it by its name; then it is compiled into the caller.

    Parameters
    ----------
    signature : numba signature
        Types of the arguments, and of the result.
    function : callable
        The Python function, which stays available as `py_func`.
    options : dict
        Options of `numba.njit`.
    home : str, optional
        Module whose import makes it.
    needs : tuple of Entry
        What it calls by its name in machine code.
    glue : bool
        Whether it does little but call others.
    """

    ready: Callable[[], None]
    """Gives it its name in machine code; only where others call it by that."""

    def __init__(
        self, signature: Any, function: Callable[..., Any], options: dict[str, Any], home: str | None = None,
        needs: tuple[Entry, ...] = (), glue: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self.signature, self.py_func, self.options = signature, function, options
        self.needs, self.glue = needs, glue
        self._dispatcher: Any = None
        self._ready = False
        self.home = home or function.__module__
        namesakes = made.setdefault((self.home, function.__qualname__), [])
        self._index = len(namesakes)
        if self._index < MOST:
            namesakes.append(self)

    def __repr__(self) -> str:
        return f"<entry {self.py_func.__module__}.{self.py_func.__qualname__} {self.signature}>"

    def __call__(self, *arguments: Any) -> Any:
        """Call it."""
        return self.load()(*arguments)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # as any function: by its name in its module

    def load(self) -> Any:
        """Return the compiled function, which others may be given as a pointer."""
        dispatcher = self.dispatcher()
        if not self._ready and isinstance(dispatcher, FunctionType):  # NUMBA_DISABLE_JIT
            self._ready = True
        if not self._ready:
            from numba.core.compiler_lock import global_compiler_lock

            for part in self.needs:
                part.ready()

            with global_compiler_lock:  # two threads: the second one finds it done
                if not dispatcher.overloads and not dispatcher._compiling_counter:
                    self._compile(dispatcher)
        return dispatcher

    @property
    def loaded(self) -> bool:
        """Whether it can be called at once."""
        return self._ready

    def missing(self) -> list[str | int] | None:
        """Return where another process finds this entry, and its contents, if it is not in the cache on disk yet."""
        if self._ready or self._index >= MOST:
            return None
        dispatcher = self.dispatcher()
        cache = _cache_module()
        kept = getattr(dispatcher, "_cache", None)
        if cache is None or not isinstance(kept, cache.KernelCache) or kept.holds(self.signature, dispatcher):
            return None
        self._announce(kept.cache_path)
        return [self.home, self.py_func.__qualname__, self._index, kept.digest()]

    def elsewhere(self) -> bool:
        """Whether another process compiles it, or what it needs, just now, and this one would have to wait."""
        if self.missing() is None:
            return False
        if any(part.elsewhere() for part in self.needs):
            return True
        dispatcher = self.dispatcher()
        return not dispatcher._compiling_counter and bool(dispatcher._cache.elsewhere(self.signature, dispatcher))

    def dispatcher(self) -> Any:
        """Return numba's dispatcher, which may not have compiled anything yet."""
        with _LOCK:
            if self._dispatcher is None:
                self._dispatcher = self._prepare()
        return self._dispatcher

    def _prepare(self) -> Any:
        njit = _numba().njit
        try:
            contents = Contents(self.py_func)  # type: ignore[arg-type]
        except Unknown as error:
            _warn_once(f"{self.py_func.__qualname__} is compiled in every process: it uses a {error}")
            return self._uncached(njit(**self.options)(self.py_func))
        named = renamed(self.py_func, contents.digest()[:16])
        dispatcher = njit(**self.options)(named)
        if isinstance(dispatcher, FunctionType):
            return dispatcher
        cache = _cache_module()
        if cache is None or not hasattr(dispatcher, "_cache"):
            return self._plain()
        try:
            dispatcher._cache = cache.KernelCache(named, contents, self.options | {"glue": self.glue}, self._announce)
        except cache.NoFolder as error:
            _warn_once(
                f"compiled code cannot be kept ({error}) and is made again by every process; set NUMBA_CACHE_DIR to a "
                "folder that can be written to", "folder",
            )
            return self._uncached(dispatcher)
        if dispatcher._cache.temporary:
            _warn_once(
                f"compiled code is kept in {cache.temporary_root()}, since neither flexctl's folder nor a home "
                "folder can be written to; set NUMBA_CACHE_DIR to a folder that lasts", "folder",
            )
        return dispatcher

    def _plain(self) -> Any:
        """Use numba's own cache, which cannot keep closures and does not notice edits in other files."""
        _warn_once(
            "this version of numba lacks what flexctl's cache of compiled code needs: numba's own is used, which "
            "compiles closures in every process and misses edits in other files", "hooks",
        )
        closure = getattr(self.py_func, "__closure__", None) is not None
        if not closure:
            with contextlib.suppress(RuntimeError):  # no folder
                return self._uncached(_numba().njit(cache=True, **self.options)(self.py_func))
        return self._uncached(_numba().njit(**self.options)(self.py_func))

    def _uncached(self, dispatcher: Any) -> Any:
        self._announce("none")
        return dispatcher

    def _compile(self, dispatcher: Any) -> None:
        try:
            with interruptible(), inside(dispatcher.py_func.__qualname__, glue=self.glue):
                dispatcher.compile(self.signature)
        finally:
            getattr(dispatcher._cache, "leave", lambda: None)()
        dispatcher.disable_compile()
        self._ready = True

    def _announce(self, folder: str) -> None:
        what = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        if announce is None:
            logging.getLogger("flexctl").info("compiling %s (cache: %s)", what, folder)
        elif "line" not in _told:
            _told.add("line")
            announce(f"compiling {what} and what else is needed for this machine; this happens once (cache: {folder})")


def for_worker() -> dict[str, str]:
    """Return what a worker's environment needs, so that of all processes one says what of compiled code is to be said.

    The first worker, where this process has not: all of them need the same code first.
    """
    with _LOCK:
        warned, tells = "folder" in _told, announce is not None and "line" not in _told
        _told.update({"folder", "line"} if tells else {"folder"})
    return dict.fromkeys([WARNED] * warned + [ANNOUNCES] * tells, "1")


def as_worker() -> None:
    """Say on stderr when code is compiled, where this is the worker that does."""
    global announce
    if os.environ.pop(ANNOUNCES, ""):
        announce = tell


def tell(line: str) -> None:
    """Print a line of `announce` on stderr."""
    print(f"flexctl: {line}", file=sys.stderr, flush=True)


def _warn_once(message: str, about: str = "") -> None:
    if about == "folder" and os.environ.get(WARNED):
        return
    if (about or message) not in _told:
        _told.add(about or message)
        warnings.warn(message, stacklevel=2)


@functools.cache
def _numba() -> Any:
    """Import numba, and let compiled code call entries by their names."""
    import numba
    from numba.extending import typeof_impl

    @typeof_impl.register(Entry)
    def type_of(value: Entry, context: Any) -> Any:
        return numba.types.Dispatcher(value.load())

    return numba


@functools.cache
def _cache_module() -> Any:
    """Import what builds on numba's private names, or nothing."""
    try:
        from . import cache
    except (ImportError, AttributeError):
        return None
    return cache
