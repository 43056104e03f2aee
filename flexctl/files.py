"""Writing files: everything or nothing."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from .errors import DefinitionError


def write_atomically(path: str | Path, writer: Callable[[IO[bytes]], Any]) -> Path:
    """Let `writer` fill a temporary file beside `path`, then move it there; on any failure nothing is left behind.

    Raises
    ------
    DefinitionError
        When the folder does not exist or cannot be written.
    """
    target = Path(path)
    if target.is_dir():
        raise DefinitionError(f"{target} is a folder; give the name of a file")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        remedy = "choose an existing folder that you may write to"
        raise DefinitionError(f"cannot write {target}: {error.strerror}; {remedy}") from error
    try:
        with os.fdopen(handle, "wb") as stream:
            writer(stream)
        # mkstemp makes the file private; a result should have the user's ordinary permissions
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except OSError as error:
        raise DefinitionError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
    return target
