"""`flexctl doctor`: what is installed here, what is missing, and what that costs."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from .. import __version__
from . import cli
from .common import EXIT_FAILED, command, json_option, print_json, print_table, table

NEEDED = ("numpy", "scipy", "control", "slycot", "numba", "matplotlib", "click", "rich")
EXTRAS = (
    ("pandas", "pandas", "to_pandas()"), ("pyarrow", "parquet", "tables saved as .parquet"),
    ("distributed", "dask", "sweeps on Dask workers"), ("nbclient", "notebooks", "executing the notebooks"),
    ("exudyn", "bench", "`make bench` beside Exudyn"),
)
"""Module, extra of flexctl that installs it, what it is for."""
PROGRAMS = (
    (("cc", "gcc", "clang"), "a C compiler, for laws and arms as C code or FMUs that run here: apt install gcc"),
    (("ffmpeg",), "films as .mp4: apt install ffmpeg"),
    (("octave-cli", "octave"), "GNU Octave, which the tests of MATLAB files use: apt install octave octave-control"),
    (("arm-none-eabi-gcc",), "a compiler for ARM microcontrollers: apt install gcc-arm-none-eabi"),
    (("qemu-system-arm",), "an emulator of them: apt install qemu-system-arm"),
    (("chromium", "google-chrome"), "a browser, for its tests: apt install chromium"),
)


@command(
    cli,
    """
flexctl doctor
flexctl doctor --json
""",
)
@json_option
def doctor(as_json: bool) -> None:
    """Report what is installed, where compiled code is kept, and what is missing for which feature.

    The exit code is 1 if something flexctl needs is missing or broken.
    """
    packages, broken = _packages()
    extras = [{"name": m, "found": find_spec(m) is not None, "extra": e, "for": use} for m, e, use in EXTRAS]
    programs = [{"name": known[0], "found": _which(known), "for": use} for known, use in PROGRAMS]
    kept = _kept()
    threads = {name: os.environ.get(name, "") for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    here = {"python": platform.python_version(), "system": platform.platform(), "cores": _cores(), "threads": threads}
    if as_json:
        print_json({
            "version": __version__, **here, "packages": packages, "broken": broken, "extras": extras,
            "programs": programs, "compiled_code": kept,
        })
    else:
        _print(here, packages, extras, programs, kept)
        for name, why in broken.items():
            click.echo(f"flexctl: {name} is missing or broken: {why}; pip install --force-reinstall {name}", err=True)
    if broken or not kept["usable"]:
        sys.exit(EXIT_FAILED)


def _packages() -> tuple[dict[str, str], dict[str, str]]:
    """Return the version of each package that is needed, and what is wrong with which."""
    versions, broken = {}, {}
    for name in NEEDED:
        try:
            import_module(name)
            versions[name] = metadata.version(name)
        except Exception as error:  # noqa: BLE001 - a broken shared library raises whatever it likes
            broken[name] = f"{type(error).__name__}: {error}"
    return versions, broken


def _which(known: tuple[str, ...]) -> str:
    return next((place for place in map(shutil.which, known) if place), "")


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def _kept() -> dict[str, Any]:
    """Return where compiled code is kept, how much of it, and whether that works."""
    try:
        from ..kernels import cache
    except Exception as error:  # noqa: BLE001 - another numba: its own cache is used
        return {"folder": "", "files": 0, "megabytes": 0.0, "usable": True, "note": f"numba's own cache: {error}"}
    try:
        folder, note = cache.Place(cache.version).locator.get_cache_path(), ""
    except cache.NoFolder as error:
        note = f"{error}; every process compiles anew; set NUMBA_CACHE_DIR to a folder that can be written to"
        return {"folder": "", "files": 0, "megabytes": 0.0, "usable": False, "note": note}
    root = _root(Path(folder), cache)
    sizes = [file.stat().st_size for file in root.rglob("*.nbc")] if root.is_dir() else []
    if root == Path(cache.temporary_root()):
        note = "a temporary folder; set NUMBA_CACHE_DIR to one that lasts"
    return {
        "folder": str(root), "files": len(sizes), "megabytes": round(sum(sizes) / 1e6, 1), "usable": True, "note": note,
    }


def _root(folder: Path, cache: Any) -> Path:
    """Return the folder that holds those of all modules."""
    package = Path(__file__).parents[1]
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    for root in (Path(chosen) if chosen else package, package, Path(cache.temporary_root())):
        if folder.is_relative_to(root):
            return root
    return folder.parent


def _print(here: dict[str, Any], packages: Any, extras: Any, programs: Any, kept: dict[str, Any]) -> None:
    shown = table("what<", "value<")
    shown.add_row("flexctl", __version__)
    shown.add_row("Python", f"{here['python']} on {here['system']}")
    shown.add_row("cores", str(here["cores"]))
    for name, value in here["threads"].items():
        shown.add_row(name, value or "not set")
    for name, value in packages.items():
        shown.add_row(name, value)
    print_table("Here", shown)
    shown = table("what<", "value<")
    shown.add_row("folder", kept["folder"] or "none")
    shown.add_row("size", f"{kept['files']} files, {kept['megabytes']:.1f} MB")
    if kept["note"]:
        shown.add_row("note", kept["note"])
    print_table("Compiled code", shown)
    shown = table("what<", "found<", "for<")
    for row in extras:
        use = row["for"] if row["found"] else f"{row['for']}: pip install 'flexctl[{row['extra']}]'"
        shown.add_row(row["name"], "yes" if row["found"] else "no", use)
    for row in programs:
        shown.add_row(row["name"], row["found"] or "no", row["for"])
    print_table("Optional", shown)
