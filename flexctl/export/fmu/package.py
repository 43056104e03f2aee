"""The .fmu: an archive of description, sources and, where there is a compiler, a binary; the same bytes every time."""

from __future__ import annotations

import hashlib
import io
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from ...errors import NotAvailable
from .description import Description, dated

FLAGS = ("-std=c99", "-O2", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wpedantic")
_LINK = ("-shared", "-s", "-Wl,--build-id=none")
_TIMEOUT = 300.0


def packed(
    description: Description, sources: Mapping[str, str], page: str, binary: bool = True
) -> tuple[bytes, list[str], str]:
    """Return the .fmu, notes on what it lacks, and its GUID.

    Parameters
    ----------
    description : Description
        Its first source is the file that is compiled; it includes the others.
    sources : mapping
        Name -> text of the files below sources/, without flexctl_guid.h.
    page : str
        Text of documentation/index.html.
    binary : bool
        Whether to compile a binary of this machine.
    """
    guid = content_guid(description, sources)
    sources = {**sources, "flexctl_guid.h": f'#define MODEL_GUID "{guid}"\n'}
    files = {"modelDescription.xml": description.xml(guid, dated()).encode(), "documentation/index.html": page.encode()}
    files |= {f"sources/{name}": text.encode() for name, text in sources.items()}
    notes: list[str] = []
    folder = binary_folder()
    if not binary:
        notes.append("the FMU holds sources alone, as asked for: the importer must compile them")
    elif folder is None:
        notes.append(f"binaries are built on 64-bit Linux, not on {platform.system()}: the FMU holds sources alone")
    else:
        compiler = find_compiler()
        if compiler is None:
            notes.append(
                "there is no C compiler (cc, gcc, clang, or the one that CC names): the FMU holds sources alone; "
                "install one and export again, or let the importer compile them"
            )
        else:
            files[f"binaries/{folder}/{description.name}.so"] = _compiled(compiler, sources, description)
    return _archive(files), notes, guid


def content_guid(description: Description, sources: Mapping[str, str]) -> str:
    """Return the hash of what the unit is, its date left out, in the form of a GUID."""
    digest = hashlib.sha256()
    for text in (description.xml(""), *(part for name in sorted(sources) for part in (name, sources[name]))):
        digest.update(text.encode() + b"\0")
    return f"{{{uuid.UUID(bytes=digest.digest()[:16])}}}"


def runtime(names: Sequence[str]) -> dict[str, str]:
    """Return files of the C runtime by name."""
    place = resources.files(__package__) / "csource"
    return {name: (place / name).read_text(encoding="utf-8") for name in names}


def binary_folder() -> str | None:
    """Return the folder of FMI 2.0 for binaries of this machine, None where none are built."""
    bits = "64" if sys.maxsize > 2**32 else "32"
    known = platform.system() == "Linux" and platform.machine().lower() in ("x86_64", "amd64")
    return f"linux{bits}" if known else None


def find_compiler() -> str | None:
    """Return the C compiler: the one that CC names, else cc, gcc or clang; None where there is none."""
    wanted = os.environ.get("CC", "").split()
    for name in (wanted[:1] if wanted else ["cc", "gcc", "clang"]):
        found = shutil.which(name)
        if found:
            return found
    return None


def _compiled(compiler: str, sources: Mapping[str, str], description: Description) -> bytes:
    """Return the shared library; compiled in a folder of its own by names without paths, so that none is in it."""
    with tempfile.TemporaryDirectory(prefix="flexctl-fmu-") as place:
        for name, text in sources.items():
            Path(place, name).write_text(text, encoding="utf-8")
        output = f"{description.name}.so"
        words = [compiler, *FLAGS, *_LINK, *description.sources, "-o", output, "-lm"]
        try:
            run = subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotAvailable(f"the C compiler {compiler} failed: {error}; {_INSTEAD}") from error
        built = Path(place, output)
        if run.returncode or not built.is_file():
            lines = "\n".join(["", *(run.stderr or run.stdout).strip().splitlines()[:6]])
            raise NotAvailable(f"the C compiler {compiler} failed with code {run.returncode}; {_INSTEAD}{lines}")
        return built.read_bytes()


_INSTEAD = "set CC to another one, or export the sources alone (--no-binary)"


def _archive(files: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files, key=lambda path: (path != "modelDescription.xml", path)):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
            entry.create_system = 3
            archive.writestr(entry, files[name])
    return stream.getvalue()
