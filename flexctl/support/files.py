"""Writing files: everything or nothing."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from ..errors import DefinitionError, FlexctlError, WriteError

_FULL = {getattr(errno, name, None) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO", "ENOMEM", "EMFILE", "ENFILE")}


def write_atomically(path: str | Path, writer: Callable[[IO[bytes]], Any]) -> Path:
    """Let `writer` fill a temporary file beside `path`, then move it there; on any failure nothing is left behind.

    The file is on the disk before it takes its name, so that even a power cut leaves the old one or the new one.

    Raises
    ------
    DefinitionError
        When the folder does not exist or cannot be written.
    WriteError
        When writing fails: disk full, file too large.
    """
    target = Path(path)
    handle, name = _temporary(target)
    raw = _Remembering(handle, "wb")
    try:
        _fill(target, raw, writer)
        try:
            # mkstemp makes the file private; a result should have the user's ordinary permissions
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)
            os.replace(name, target)
        except OSError as error:
            raise failed(target, error) from error
        sync_folder(target.parent)
    finally:
        with contextlib.suppress(OSError):
            raw.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
    return target


def check_writable(path: str | Path) -> None:
    """Raise `DefinitionError` or `WriteError` unless a file of that name can be made, by making one beside it."""
    handle, name = _temporary(Path(path))
    os.close(handle)
    os.unlink(name)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk, where the system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def failed(path: Path, error: OSError) -> WriteError:
    """Return the error that says why a file could not be written."""
    return WriteError(f"cannot write {path}: {error.strerror or error}; make room, or choose another place")


def _temporary(target: Path) -> tuple[int, str]:
    if os.path.isdir(target):  # unlike Path.is_dir, no error for a name that is too long
        raise DefinitionError(f"{target} is a folder; give the name of a file")
    try:
        return tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        if error.errno in _FULL:
            raise failed(target, error) from error
        remedy = "choose an existing folder that you may write to"
        raise DefinitionError(f"cannot write {target}: {error.strerror}; {remedy}") from error


class _Remembering(io.FileIO):
    """A file that remembers what went wrong: zip and picture writers raise errors of their own on top of it."""

    error: OSError | None = None

    def write(self, data: Any) -> int:
        """Write some of the data, as a raw file does."""
        try:
            return super().write(data)
        except OSError as error:
            self.error = self.error or error
            raise


def _fill(target: Path, raw: _Remembering, writer: Callable[[IO[bytes]], Any]) -> None:
    stream = io.BufferedWriter(raw)
    try:
        writer(stream)
        stream.flush()
        os.fsync(raw.fileno())
    except FlexctlError:
        raise
    except Exception as error:
        cause = raw.error or (error if isinstance(error, OSError) else None)
        if cause is None:
            raise
        raise failed(target, cause) from error
    finally:
        with contextlib.suppress(OSError, ValueError):
            stream.close()


def reason_of(error: Exception) -> str:
    """Return why a file could not be read, without NumPy's advice to run what a pickle holds."""
    return str(error).partition(" If you trust the file")[0].rstrip(".") or type(error).__name__
