"""Out to hardware and other programs: laws as C code, laws and plants as FMU, MATLAB functions, JSON.

    export_law("tokhi_azad_lqg", "out/lqg", to="c")         a folder with header, source, test, Makefile, README
    export_plant("tokhi_azad_1994", "out/arm", to="fmu")

A format is one entry of `WRITERS` and one module with the function that it names:

    def write(request: Request) -> Written

It turns a request into the contents of files; `export_law` and `export_plant` put them into a folder, all or none.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import DefinitionError, require, unknown
from ..support.files import write_folder
from ..support.kinds import LawGiven, SystemGiven
from .names import identifier


@dataclass(frozen=True, eq=False)
class Request:
    """A law or plant to be exported.

    Attributes
    ----------
    thing : Any
        The law, in its wrappers and with its `Design` where it has one; or the plant as it was given.
    name : str
        Name of the export, a legal C identifier: of files, types and functions.
    title : str
        What it is called in texts: the script, the plant.
    plant : Any
        Of a law: the `Plant` (or what stands for one) that it was designed on; None if unknown.
    script : Any
        The controller script of the law, None if it has none.
    options : mapping
        Options of the format; only those that its writer names, and only those that were given.
    """

    thing: Any
    name: str
    title: str = ""
    plant: Any = None
    script: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Written:
    """The files that a writer made.

    Attributes
    ----------
    files : mapping
        Contents by path within the folder, "/" between folders.
    notes : tuple of str
        What the user must know: what was left out, what was changed.
    facts : mapping
        Numbers of the export, for `--json` and `Exported.facts`.
    """

    files: Mapping[str, bytes]
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Exported:
    """A finished export.

    Attributes
    ----------
    folder : Path
        Where the files are.
    files : tuple of str
        Their paths within the folder.
    notes : tuple of str
        What was left out or changed.
    facts : mapping
        Numbers of the export, e.g. bytes of state.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     made = fx.export_law("tokhi_azad_pd", f"{place}/pd")
    >>> made.files[:2]
    ('CMakeLists.txt', 'Makefile')
    """

    folder: Path
    files: tuple[str, ...]
    notes: tuple[str, ...]
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Writer:
    """Who writes a format: the module below this folder, and the options that its `write` takes."""

    module: str
    options: tuple[str, ...] = ()
    about: str = ""


WRITERS: dict[tuple[str, str], Writer] = {
    ("law", "c"): Writer(
        "c", ("sample_time", "method", "scenario", "references", "tables", "test_steps", "certificate"),
        "C99 source with its test",
    ),
    ("law", "fmu"): Writer(
        "fmu.law", ("sample_time", "method", "scenario", "references", "tables", "binary"), "FMI 2.0, co-simulation"
    ),
    ("plant", "fmu"): Writer(
        "fmu.plant", ("modes", "step", "stop", "binary", "plain_states", "nonlinear", "pose", "load"),
        "FMI 2.0: linear, co-simulation and model exchange; nonlinear, co-simulation",
    ),
    ("law", "matlab"): Writer(
        "matlab.law", ("sample_time", "method"), "NAME.m with law, plant and closed loop as ss objects, and NAME.mat"
    ),
    ("plant", "matlab"): Writer("matlab.plant", ("modes",), "NAME.m that rebuilds the ss object, and NAME.mat"),
    ("plant", "json"): Writer("json_file", ("modes",), "matrices, names, units, origin"),
}
"""(law or plant, format) -> who writes it."""


def formats(what: str) -> list[str]:
    """Return the formats in which a "law" or a "plant" can be written."""
    return [form for kind, form in WRITERS if kind == what]


def export_law(
    law: str | Path | LawGiven, folder: str | Path, to: str = "c", *, plant: SystemGiven = None, name: str = "",
    **options: Any,
) -> Exported:
    """Write a sampled control law for another program.

    Parameters
    ----------
    law : str, Path, Controller or linear system
        Name or path of a controller script, or a law: a `Design`, a law in its wrappers, a `FirstOrder`, a
        `control.StateSpace`.
    folder : path
        Folder to create. One that an earlier export made is replaced; any other with something in it is refused.
    to : str
        "c": C99 source; further formats as `flexctl export law --help` lists them.
    plant : Plant, str or Path, optional
        The arm that a script designs for instead of its own; for any other law the arm that gives the units.
    name : str, optional
        Name of files, types and functions; by default that of the script, or "law".
    **options
        sample_time [s] and method ("tustin" or "zoh") sample a continuous law. scenario: name of the scenario of the
        script whose references become a table in the code; references: these themselves, a motion by channel. tables:
        True allows tables above 64 kB. test_steps: periods in the recorded test. certificate: the .json file of
        `flexctl certify` of this law, whose verdict goes into the code. binary: False writes an FMU of sources
        only.

    Returns
    -------
    Exported
        Files, notes and numbers.

    Raises
    ------
    NotAvailable
        Where the law cannot be written: a class of the user's own, a continuous law without `sample_time`.
    DefinitionError
        Where an option is wrong or has no effect in this format, or the folder holds something else.

    Examples
    --------
    >>> import tempfile
    >>> law = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]])
    >>> with tempfile.TemporaryDirectory() as place:
    ...     made = fx.export_law(fx.Delayed(law), f"{place}/out", name="damper")
    >>> made.facts["state_bytes"]
    16
    """
    from .source import law_of  # what follows loads the simulation, which this module must not

    writer = _writer("law", to, options)
    thing, title, arm, script = law_of(law, plant)
    return _written(writer, Request(thing, identifier(name or title or "law"), title, arm, script, options), folder)


def export_plant(
    plant: SystemGiven, folder: str | Path, to: str = "fmu", *, name: str = "", **options: Any
) -> Exported:
    """Write a plant for another program.

    Parameters
    ----------
    plant : Plant, MechanicalModel, linear plant, str or Path
        The arm, its name or file, or its linear plant.
    folder : path
        Folder to create. One that an earlier export made is replaced; any other with something in it is refused.
    to : str
        Format, as `flexctl export plant --help` lists them.
    name : str, optional
        Name of the export; by default that of the plant.
    **options
        modes: keep the rigid and this many of the lowest flexible modes. Of an FMU: step and stop [s] are the default
        step and stop time of importers; binary=False writes sources only; plain_states=True gives importers the
        plant's own states to integrate, even where their solvers do badly. nonlinear=True writes the arm itself,
        with `step` (1 ms) as its longest inner step; it begins at rest in its reference pose without inputs, or in
        equilibrium at pose={"joint2": 0.5} [rad or m] under load={"tip_force_y": 5.0} [unit of the input].

    Returns
    -------
    Exported
        Files, notes and numbers.

    Examples
    --------
    >>> try:
    ...     fx.export_plant("tokhi_azad_1994", "out", to="c")
    ... except fx.DefinitionError as error:
    ...     print("no C code of plants" if "c" in str(error) else error)
    no C code of plants
    """
    from .source import plant_of

    writer = _writer("plant", to, options)
    thing, title = plant_of(plant)
    return _written(writer, Request(thing, identifier(name or title or "plant"), title, options=options), folder)


def _writer(what: str, to: str, options: Mapping[str, Any]) -> Writer:
    if re.fullmatch(r"fm[ui][ _-]?(v?3(\.0)?)", to.strip(), re.IGNORECASE):
        raise DefinitionError(f'a {what} is not written for FMI 3.0 ("{to}"); "fmu" is FMI 2.0, use that')
    if (what, to) not in WRITERS:
        raise unknown(f"format of a {what}", to, formats(what))
    writer = WRITERS[what, to]
    for key in options:
        if key not in writer.options:
            known = any(key in other.options for other in WRITERS.values())
            if known:
                raise DefinitionError(f"{key} has no effect on a {what} as {to}; leave it out")
            raise unknown(f"option of a {what} as {to}", key, writer.options)
    return writer


def _written(writer: Writer, request: Request, folder: str | Path) -> Exported:
    made: Written = importlib.import_module(f".{writer.module}", __name__).write(request)
    require(bool(made.files), f"{request.name} gave no file")
    return Exported(
        write_folder(folder, made.files), tuple(sorted(made.files)), tuple(made.notes), dict(made.facts)
    )
