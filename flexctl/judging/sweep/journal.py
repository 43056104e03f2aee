"""Files of a running sweep: a journal, and a lock that keeps a second writer away.

The journal (``results.csv.journal``) has a first line that says what is swept and a line for every case that is done,
appended and put on the disk at once (fsync); a run that is interrupted, by Ctrl-C, a kill or a power cut, continues
from it. Every line carries a checksum: one that was cut off or damaged is not believed, and its case done again. The
table is written whole at the end and the journal removed.

The lock (``results.csv.lock``) names host and process of the writer. The system frees it when that process ends, in
whatever way; where a file system knows no locks, the process is looked for instead.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import os
import socket
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from ...errors import DefinitionError, caution, require
from ...support.files import failed, sync_folder

fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None
REMEDY = "finish that one, remove the file, or start afresh (--fresh)"
_NO_LOCKS = {getattr(errno, name, None) for name in ("ENOLCK", "ENOSYS", "EOPNOTSUPP", "ENOTSUP")}


class Journal:
    """The cases that are done, on disk as they come.

    Parameters
    ----------
    path : Path
        File of the table; the journal is beside it.
    about : mapping
        What is swept, with its "points"; a journal of anything else is refused.
    """

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path = path.with_name(path.name + ".journal")
        self.about = json.loads(json.dumps(about, default=str))
        self.done: dict[int, list[dict[str, Any]]] = {}
        self._stream: IO[bytes] | None = None
        self._lock = Lock(path.with_name(path.name + ".lock"))

    def open(self, resume: bool) -> None:
        """Read what is there, or begin anew; refused while another process writes."""
        self._lock.take()
        try:
            self._open(self._read() if resume and self.path.exists() else 0)
        except BaseException:
            self._lock.release()
            raise

    def _open(self, good: int) -> None:
        try:
            self._stream = open(self.path, "r+b" if good else "wb", buffering=0)  # noqa: SIM115  (closed by close)
            self._stream.truncate(good)  # a line that a killed process left unfinished
            self._stream.seek(good)
        except OSError as error:
            raise DefinitionError(f"cannot write {self.path}: {error.strerror}; choose another folder") from error
        if not good:
            self._line({"sweep": self.about})
            sync_folder(self.path.parent)

    def _read(self) -> int:
        """Return the length of the lines that are finished, the cases among them that are whole in `done`."""
        try:
            *lines, unfinished = (content := self.path.read_bytes()).split(b"\n")
        except OSError as error:
            raise DefinitionError(f"cannot read {self.path}: {error.strerror}; {REMEDY}") from error
        if not lines:
            return 0
        head = _loaded(lines[0])
        proper = isinstance(head, dict) and "sweep" in head
        require(proper, f"{self.path} is damaged or not a journal of a sweep; {REMEDY}")
        require(head["sweep"] == self.about, f"{self.path} belongs to another sweep; {REMEDY}")
        cases = [self._case(line) for line in lines[1:]]
        self.done.update(case for case in cases if case is not None)
        damaged = sum(case is None for case in cases)
        if damaged:
            message = f"{self.path}: {damaged} of {len(cases)} lines are damaged; their cases are computed again"
            caution(message)
        return len(content) - len(unfinished)

    def _case(self, line: bytes) -> tuple[int, list[dict[str, Any]]] | None:
        entry = _loaded(line)
        if not (isinstance(entry, dict) and {"case", "rows", "check"} <= entry.keys()):
            return None
        number, rows = entry["case"], entry["rows"]
        proper = isinstance(number, int) and 0 <= number < len(self.about["points"])
        return (number, rows) if proper and entry["check"] == _checksum(number, rows) else None

    def add(self, number: int, rows: list[dict[str, Any]]) -> None:
        """Append a case that is done."""
        self.done[number] = rows
        self._line({"case": number, "rows": rows, "check": _checksum(number, rows)})

    def _line(self, entry: Mapping[str, Any]) -> None:
        if self._stream is None:
            return
        data = json.dumps(entry).encode() + b"\n"
        try:
            while data:
                data = data[self._stream.write(data) :]
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise failed(self.path, error) from error

    def close(self, finished: bool) -> None:
        """Close the file, and remove it when the sweep is finished."""
        if self._stream is not None:
            with contextlib.suppress(OSError):
                self._stream.close()
            self._stream = None
            if finished:
                self.path.unlink(missing_ok=True)
        self._lock.release()


class Lock:
    """The lock that one process holds while it writes.

    Parameters
    ----------
    path : Path
        Its file, which tells host and process.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def take(self) -> None:
        """Take the lock, or raise `DefinitionError` with host and process of who has it."""
        while self._handle is None:
            handle = self._opened()
            try:
                self._refuse_second(handle)
                # the one before may have removed the file between our opening and locking it
                if os.path.exists(self.path) and os.path.samestat(os.fstat(handle), os.stat(self.path)):
                    self._handle = handle
            finally:
                if self._handle is None:
                    os.close(handle)
        os.ftruncate(self._handle, 0)
        about = {"process": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
        os.write(self._handle, json.dumps(about).encode())

    def _opened(self) -> int:
        try:
            return os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise DefinitionError(f"cannot write {self.path}: {error.strerror}; choose another folder") from error

    def _refuse_second(self, handle: int) -> None:
        locked = _locked(handle)
        holder = _loaded(os.pread(handle, 1000, 0)) if hasattr(os, "pread") else None
        holder = holder if isinstance(holder, dict) else {}
        if locked or (locked is None and (not holder or not _alive(holder))):
            return
        who = f"process {holder.get('process')} on {holder.get('host')}, since {holder.get('since')}"
        table = self.path.with_suffix("")
        told = who if holder else "another process"
        raise DefinitionError(f"{table} is being written by {told}; let it finish, end it, or write another file")

    def release(self) -> None:
        """Give the lock back."""
        if self._handle is not None:
            with contextlib.suppress(OSError):
                self.path.unlink()
            os.close(self._handle)
            self._handle = None


def _locked(handle: int) -> bool | None:
    """Return whether the file could be locked; None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return None if error.errno in _NO_LOCKS else False
    return True


def _alive(holder: Mapping[str, Any]) -> bool:
    """Whether the process of a lock may still be there; of another host nobody can tell."""
    if holder.get("host") != socket.gethostname() or os.name != "posix":
        return True
    try:
        os.kill(int(holder["process"]), 0)
    except (ProcessLookupError, KeyError, TypeError, ValueError):
        return False
    except OSError:
        return True
    return True


def _loaded(line: bytes) -> Any:
    """Return what a line holds, None when it is damaged."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _checksum(number: int, rows: Any) -> int:
    return zlib.crc32(json.dumps([number, rows]).encode())
