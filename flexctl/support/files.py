"""Writing files: everything or nothing."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
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


MARK = ".flexctl-export"
"""File in a folder that `write_folder` made: the paths that it wrote, a line each."""
BUILT = "build"
"""Folder in there for what is built from the files; it goes with them."""


def write_folder(folder: str | Path, files: Mapping[str, bytes]) -> Path:
    """Make a folder with these files, all of them or nothing; one that was made here before is replaced.

    Parameters
    ----------
    folder : path
        The folder; its parents are made. One that holds other files than an earlier call wrote is refused.
    files : mapping
        Contents by path within the folder, "/" between folders.

    Raises
    ------
    DefinitionError
        When the folder holds something else, or cannot be made.
    WriteError
        When writing fails: disk full.
    """
    target = Path(folder)
    _check_replaceable(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        if error.errno in _FULL:
            raise failed(target, error) from error
        raise DefinitionError(f"cannot make the folder {target}: {error.strerror}; choose another place") from error
    try:
        _fill_folder(new, {**files, MARK: "".join(f"{name}\n" for name in sorted(files)).encode()})
        _exchange(new, target)
    except OSError as error:
        raise failed(target, error) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
    sync_folder(target.parent)
    return target


def _check_replaceable(target: Path) -> None:
    """Refuse a place where something else stands."""
    if not os.path.lexists(target):
        return
    if not target.is_dir() or target.is_symlink():
        raise DefinitionError(f"{target} is a file; give the name of a folder")
    mark = target / MARK
    own = {MARK, *(mark.read_text().splitlines() if mark.is_file() else ())}
    there = {
        path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_symlink() or not path.is_dir()
    }
    others = sorted(name for name in there - own if name.split("/")[0] != BUILT or not mark.is_file())
    if others:
        raise DefinitionError(
            f"{target} holds {others[0]}{f' and {len(others) - 1} more' if others[1:] else ''}, which no export wrote; "
            "choose another folder, or move that away"
        )


def _fill_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a new folder, and give all of it the user's ordinary permissions."""
    mask = os.umask(0)
    os.umask(mask)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    os.chmod(folder, 0o777 & ~mask)
    sync_folder(folder)


def _exchange(new: Path, target: Path) -> None:
    """Move a finished folder to its place; what stood there is back if that fails."""
    old = new.with_name(f"{new.name}.old")
    there = target.exists()
    if there:
        os.rename(target, old)
    try:
        os.rename(new, target)
    except OSError:
        if there:
            os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


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


_BEGINNINGS = {b"PK\x03\x04": ".npz", b"MATLAB 5.0": ".mat", b"\x89HDF": ".mat", b"    -1": ".uff", b"{": ".json"}
"""First bytes of a file: the suffix it should have."""


def check_kind(data: bytes, suffix: str) -> None:
    """Refuse content that begins like another kind of file than its suffix says.

    Examples
    --------
    >>> check_kind(b"time [s],torque [N m]", ".csv")
    """
    kind = next((kind for first, kind in _BEGINNINGS.items() if data.startswith(first)), "")
    text = bool(data) and all(31 < byte < 127 or byte in b"\t\r\n" for byte in data[:256])
    if not kind and text and suffix in (".npz", ".mat", ".json"):
        kind = ".csv"
    universal = kind == ".uff" and suffix == ".unv"
    if kind and kind != suffix and not universal:
        what = "text, perhaps a .csv file" if kind == ".csv" else f"a {kind} file"
        raise DefinitionError(f"it is named {suffix}, but by its content it is {what}: rename it")
