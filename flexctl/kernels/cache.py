"""The disk cache of compiled code: one file per function, signature, machine and contents.

A file is found by its name, `<module>.<function>-<which>-<what>.nbc`: "which" is a digest of the function's identity
and of what it is compiled for, "what" one of its contents (see `contents`) and of flexctl's version. Saving a function
removes its files of other contents. There is no index that two processes could write at once; a file comes into its
place complete, and carries the digest of its bytes: a damaged one is taken for none.

This uses names that numba keeps private. `jit` falls back to numba's own cache where they are missing.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import os
import pickle
import stat
import sys
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import llvmlite  # type: ignore[import-untyped]
import numba
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserWideCacheLocator
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from . import compiling, groups, shorter
from .contents import Contents, described, digest, name_of, source

MAGIC = b"flexctl compiled code 1\n"
PATIENCE = 120.0  # no longer than this [s] does a process wait for another one that compiles the same
LEFT_BEHIND = 3600.0  # a temporary file older than this [s] belongs to a process that was killed
TUNING = ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT", "ENABLE_AVX", "ERROR_MODEL")

for _needed in (CompileResult._reduce, CompileResult._rebuild, CompileResultCacheImpl._locator_classes):
    assert _needed is not None  # AttributeError above: this numba has no such hooks
FunctionCache._load_overload, FunctionCache._save_overload  # noqa: B018  (the same)


class NoFolder(RuntimeError):
    """There is no folder to keep compiled code in."""


class TemporaryFolder(UserWideCacheLocator):  # type: ignore[misc]
    """The last resort: a folder of this user below the system's temporary one."""

    def __init__(self, function: Any, path: str) -> None:
        self._py_file, self._lineno = path, function.__code__.co_firstlineno
        self._cache_path = os.path.join(temporary_root(), self.get_suitable_cache_subpath(path))

    def ensure_cache_path(self) -> None:
        """Make the folder; refuse one that others could write to: what lies in it is executed."""
        root = temporary_root()
        with contextlib.suppress(FileExistsError):
            os.mkdir(root, 0o700)
        found = os.lstat(root)
        mine = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
        if not stat.S_ISDIR(found.st_mode) or not mine:
            raise PermissionError(f"{root} is not a folder of this user alone")
        super().ensure_cache_path()


def temporary_root() -> str:
    """Return the folder for compiled code below the system's temporary one."""
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    return os.path.join(tempfile.gettempdir(), f"flexctl-{user}")


class Place(CompileResultCacheImpl):  # type: ignore[misc]
    """Where a function's files are: as numba chooses, else a temporary folder."""

    _locator_classes = (*CompileResultCacheImpl._locator_classes, TemporaryFolder)

    def __init__(self, function: Any) -> None:
        try:
            super().__init__(function)
        except (RuntimeError, OSError, TypeError) as error:
            raise NoFolder(str(error)) from error


class Files:
    """The files of one function in one folder."""

    def __init__(self, folder: str, name: str) -> None:
        self.folder, self.name = folder, name

    def path(self, key: tuple[str, str]) -> str:
        """Return the file of a key (which, what)."""
        return os.path.join(self.folder, f"{self.name}-{key[0][:16]}-{key[1][:16]}.nbc")

    def load(self, key: tuple[str, str]) -> Any:
        """Return what was saved under a key, or None."""
        try:
            with open(self.path(key), "rb") as file:
                data = file.read()
        except OSError:
            return None
        head = _head(key)
        body, check = data[len(head) + 32 :], data[len(head) : len(head) + 32]
        if not data.startswith(head) or hashlib.sha256(body).digest() != check:
            return None
        return pickle.loads(body)

    def save(self, key: tuple[str, str], data: Any) -> None:
        """Save under a key, and remove what the same function left before it was changed."""
        body = dumps(data)
        path = self.path(key)
        temporary = f"{path}.{uuid.uuid4().hex[:8]}.tmp"
        try:
            with open(temporary, "wb") as file:
                file.write(_head(key) + hashlib.sha256(body).digest() + body)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        self._tidy(key)

    def _tidy(self, key: tuple[str, str]) -> None:
        keep = self.path(key)
        for path in glob.glob(os.path.join(glob.escape(self.folder), f"{glob.escape(self.name)}-{key[0][:16]}-*")):
            with contextlib.suppress(OSError):  # another process may have been faster
                young = path.endswith(".tmp") and time.time() - os.stat(path).st_mtime < LEFT_BEHIND
                if path != keep and not young:
                    os.unlink(path)

    def flush(self) -> None:
        """Remove all files of this function."""
        for path in glob.glob(os.path.join(glob.escape(self.folder), f"{glob.escape(self.name)}-*.nbc")):
            with contextlib.suppress(OSError):
                os.unlink(path)


def _head(key: tuple[str, str]) -> bytes:
    return MAGIC + bytes.fromhex(key[0]) + bytes.fromhex(key[1])


class Turn:
    """One process after the other: the lock of one function, a byte of the file `compiling` in its folder.

    The system frees it when a process ends. Without locks, or after a long wait, nobody waits. `free` says whether no
    other process has it.
    """

    _files: ClassVar[dict[str, int]] = {}  # open until the process ends: to close one would free all its bytes

    def __init__(self, folder: str, place: int, patience: float = PATIENCE) -> None:
        self.place, self.taken, self.free = place, False, True
        try:
            import fcntl

            if folder not in self._files:
                self._files[folder] = os.open(os.path.join(folder, "compiling"), os.O_RDWR | os.O_CREAT, 0o600)
        except (ImportError, OSError):
            return
        self._file, self._lock, end = self._files[folder], fcntl.lockf, time.monotonic() + patience
        self.free = self._locks(fcntl.LOCK_EX | fcntl.LOCK_NB)
        while not self.free and time.monotonic() < end:
            time.sleep(0.02)
            self.free = self._locks(fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.taken = True

    def _locks(self, how: int) -> bool:
        try:
            self._lock(self._file, how, 1, self.place)
        except OSError as error:
            return error.errno not in (errno.EACCES, errno.EAGAIN)  # there are no locks here
        return True

    def leave(self) -> None:
        """Let the next one in."""
        import fcntl

        if self.taken:
            self._locks(fcntl.LOCK_UN)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """numba's cache of one function, with the key of `contents` and the files above.

    Raises
    ------
    NoFolder
        If there is no folder to write to.
    """

    _impl_class = Place

    def __init__(self, function: Any, contents: Contents, options: Any, missed: Any) -> None:
        self._name, self._py_func, self._missed = repr(function), function, missed
        self._impl = Place(function)
        self._cache_path = self._impl.locator.get_cache_path()
        self._cache_file = Files(self._cache_path, f"{_stem(function)}.{_plain(name_of(function))}")
        self._contents, self._options = contents, described(options)
        self._turn: Turn | None = None
        self.enable()

    @property
    def temporary(self) -> bool:
        """Whether the files lie in the temporary folder."""
        return isinstance(self._impl.locator, TemporaryFolder)

    def holds(self, sig: Any, dispatcher: Any) -> bool:
        """Whether there is a file for a signature."""
        return os.path.exists(self._cache_file.path(self._index_key(sig, dispatcher.targetctx.codegen())))

    def elsewhere(self, sig: Any, dispatcher: Any) -> bool:
        """Whether another process compiles for a signature just now."""
        key = self._index_key(sig, dispatcher.targetctx.codegen())
        turn = Turn(os.path.dirname(self._cache_file.path(key)), int(key[0][:14], 16), 0.0)
        if turn.free:
            turn.leave()
        return not turn.free

    def digest(self) -> str:
        """Return a digest of what is compiled."""
        return self._contents.digest()

    def _index_key(self, sig: Any, codegen: Any) -> tuple[str, str]:
        python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
        tuning = [f"{name} {getattr(config, name, None)}" for name in TUNING]
        machine = [str(codegen.magic_tuple()), python, numba.__version__, llvmlite.__version__, *tuning]
        which = digest([str(sig), self._options], machine, self._contents.identity)
        return which, digest([version(), *_compiler()], self._contents.state)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super()._load_overload(sig, target_context)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the file, the function can be compiled
            warnings.warn(f"compiled code on disk cannot be used and is made again: {error}", stacklevel=2)
            found = None
        if found is None and not self._turn and self._wait(self._index_key(sig, target_context.codegen())):
            found = self._load_overload(sig, target_context)  # made meanwhile, or it is this process's turn
        elif found is None:
            self._missed(self._cache_path)
        return found

    def _wait(self, key: tuple[str, str]) -> bool:
        """Let one process compile what several need; returns whether to look again."""
        self._turn = Turn(os.path.dirname(self._cache_file.path(key)), int(key[0][:14], 16))
        return self._turn.taken

    def leave(self) -> None:
        """Let others go on: it is compiled, or failed."""
        if self._turn:
            self._turn.leave()
        self._turn = None

    def _save_overload(self, sig: Any, data: Any) -> None:
        try:
            super()._save_overload(sig, data)
        except OSError as error:
            message = f"compiled code is not kept: {error}; set NUMBA_CACHE_DIR to a folder with room"
            warnings.warn(message, stacklevel=2)

    @contextlib.contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        yield


def version() -> str:
    """Return flexctl's version."""
    return str(vars(sys.modules[__name__.partition(".")[0]])["__version__"])


def _stem(function: Any) -> str:
    return str(os.path.splitext(os.path.basename(function.__code__.co_filename))[0])


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() or c in "._" else "" for c in name)[-80:]


def _compiler() -> list[str]:
    """Return digests of the files that decide what numba makes of a function."""
    return [word for module in (compiling, groups, shorter) for word in source(module.__file__ or "")]
