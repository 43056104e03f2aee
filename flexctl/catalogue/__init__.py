"""The catalogue: find plant files and controller scripts, load them, build the plant.

`plants/*.toml` and `controllers/*.py` stand beside the package in a checkout and inside it, under `_catalogue/`, in a
wheel; `find` looks in the package first. Any other path works too.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .. import __version__, models
from ..errors import DefinitionError, NotAvailable, listed, require, unknown
from ..machine.arm import Arm, Payload
from ..machine.given import SAVED, is_measured, opened
from ..machine.plausible import check_plausible
from ..models import outside
from ..support.moved import OldMembers
from .definition import Row, Tree, located, of_matrices, read_definition, read_tree
from .overrides import combine, merge, overridden
from .uncertainty import Uncertainty

if TYPE_CHECKING:
    from ..frequency import FrequencyResponse
    from ..linear import SecondOrder
    from ..linear.modes import Modes
    from ..model import FloatArray, MechanicalModel, OperatingPoint
    from .expected import Expected

PACKAGE = Path(__file__).resolve().parents[1]
ENDINGS = {"plants": ".toml", "controllers": ".py"}


def find(folder: str) -> Path:
    """Return the folder "plants" or "controllers" of this installation.

    Examples
    --------
    >>> (fx.find("plants") / "ralf.toml").is_file()
    True
    """
    require(folder in ENDINGS, f'the catalogue has no folder "{folder}"; it has plants and controllers')
    for place in (PACKAGE / "_catalogue" / folder, PACKAGE.parent / folder):
        if place.is_dir():
            return place
    raise NotAvailable(f"this installation of flexctl has no {folder} folder; reinstall it, or give the path of a file")


def list_plants() -> list[str]:
    """Return the names of the plants in the catalogue.

    Examples
    --------
    >>> fx.list_plants()[:3]
    ['li_zhang_single_link', 'li_zhang_three_link', 'li_zhang_three_link_flexible_joints']
    """
    return _names("plants")


def list_controllers() -> list[str]:
    """Return the names of the controllers in the catalogue.

    Examples
    --------
    >>> "tokhi_azad_lqg" in fx.list_controllers()
    True
    """
    return _names("controllers")


def _names(folder: str) -> list[str]:
    return sorted(p.stem for p in find(folder).glob(f"*{ENDINGS[folder]}") if not p.stem.startswith("_"))


def locate(folder: str, name: str | Path) -> tuple[Path, str]:
    """Return the file of a catalogue name or a path, and how messages call it."""
    told = "a name of the catalogue or the path of a file"
    require(isinstance(name, str | Path), f"{folder.removesuffix('s')} {name!r} is not {told}")
    ending, path = ENDINGS[folder], Path(name)
    if folder == "plants" and path.suffix.lower() in SAVED:
        return path, str(name)
    if isinstance(name, Path) or path.suffix == ending or len(path.parts) > 1:
        return path, str(name)
    if name not in _names(folder):
        other = next((kind for kind in ENDINGS if kind != folder and name in _names(kind)), "")
        own = folder.removesuffix("s")
        require(not other, f"{name} is a {other.removesuffix('s')}, not a {own}; {own}s: {listed(_names(folder))}")
        error = unknown(folder.removesuffix("s"), str(name), _names(folder))
        raise DefinitionError(f"{error}; or give the path of a {ending} file")
    return find(folder) / f"{name}{ending}", f"{folder}/{name}{ending}"


@dataclass(frozen=True, eq=False)
class Plant(OldMembers):
    """A machine together with the solver that models it.

    Attributes
    ----------
    name, title, reference : str
        Catalogue name, one line about the machine, where it was published.
    arm : Arm
        The machine.
    kind, options
        The solver and its options.
    overrides : mapping
        Dotted key -> value, where the plant differs from its file.
    expected : tuple of Expected
        Values that the plant must reproduce; see `flexctl.catalogue.expected.verify`.
    rows : tuple of Row
        Every key with value, unit, meaning and provenance.
    source : str
        The file.
    tables : mapping
        The tables of the file, without the overrides.
    uncertainty : Uncertainty or None
        What is not known exactly, as [uncertainty] of the file says: `uncertainty.draw(plant, count)` returns
        overrides.

    Examples
    --------
    >>> arm = fx.load_plant("tokhi_azad_1994")
    >>> heavy = arm.with_(payload={"mass": 0.02})
    >>> print([f"{plant.modes(1).frequencies_hz[0]:.2f} Hz" for plant in (arm, heavy)])
    ['11.74 Hz', '10.13 Hz']
    """

    name: str
    title: str
    reference: str
    arm: Arm
    kind: str
    options: Mapping[str, Any]
    overrides: Mapping[str, Any]
    expected: tuple[Expected, ...]
    rows: tuple[Row, ...]
    source: str
    tables: Tree = field(repr=False)
    uncertainty: Uncertainty | None = None

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.title}", f"{self.source}, model {self.kind}"]
        for row in self.given:
            lines.append(f"  {row.key:<36} {_brief(row.value):<14} {row.unit:<8} {row.text}")
        return "\n".join(lines)

    @property
    def given(self) -> tuple[Row, ...]:
        """The rows that the plant file or an override states; the others have their default values."""
        return tuple(row for row in self.rows if row.value is not None and row.provenance != "default")

    @cached_property
    def model(self) -> MechanicalModel:
        """The mechanical model, built on first use."""
        with located(f"{self.source}: [model]"):
            return models.build(self.arm, self.kind, **self.options)

    @property
    def place(self) -> str:
        """The name by which `load_plant` finds the file: the catalogue name, or the full path."""
        catalogued = self.source == f"plants/{self.name}{ENDINGS['plants']}" and self.name in list_plants()
        return self.name if catalogued else str(Path(self.source).resolve())

    @property
    def provenance(self) -> dict[str, str]:
        """Where each value comes from, by dotted key."""
        return {row.key: row.provenance for row in self.rows}

    def check_payload(self, mass: float, inertia: float) -> None:
        """Refuse a payload [kg], [kg m^2] in the wrong unit, as a plant file with that payload is refused."""
        check_plausible(replace(self.arm, payload=Payload(mass, inertia)))

    @property
    def identity(self) -> dict[str, Any]:
        """The provenance that every result made from this plant carries: plant, model, overrides, version, source."""
        return {
            "plant": self.name,
            "model": self.kind,
            "overrides": dict(self.overrides),
            "version": __version__,
            "source": self.source,
        }

    def undocumented(self) -> list[str]:
        """Return the dotted keys of the physical numbers whose origin the file does not state."""
        return [row.key for row in self.rows if row.physical and row.given and not row.provenance]

    def linearise(
        self,
        at: OperatingPoint | None = None,
        friction: str = "viscous",
        load: Mapping[str, float] | None = None,
        pose: Mapping[str, float] | Sequence[float] | FloatArray | None = None,
    ) -> SecondOrder:
        """Return the linear plant about an operating point, by default at rest in the reference pose.

        friction: of joints at rest "viscous" only, or "stick"; load: constant inputs by name, pose: joint variables,
        under and in which it rests; see `flexctl.linearise`.
        """
        from ..linear import linearise

        return linearise(self.model, at, self.identity, friction, load, pose)

    def modes(
        self, count: int | None = None, load: Mapping[str, float] | None = None,
        pose: Mapping[str, float] | Sequence[float] | FloatArray | None = None,
    ) -> Modes:
        """Return the `count` lowest flexible modes of the linear plant; load and pose as in `linearise`."""
        return self.linearise(load=load, pose=pose).modes(count)

    def frequency_response(
        self, omega: FloatArray | None = None, load: Mapping[str, float] | None = None,
        pose: Mapping[str, float] | Sequence[float] | FloatArray | None = None,
    ) -> FrequencyResponse:
        """Return the frequency response of the linear plant on a grid [rad/s]; load and pose as in `linearise`."""
        return self.linearise(load=load, pose=pose).frequency_response(omega)

    def with_(
        self,
        overrides: Mapping[str, Any] | None = None,
        *,
        model: str | Mapping[str, Any] | None = None,
        **tables: Any,
    ) -> Plant:
        """Return the plant with further overrides, given as for `load_plant`."""
        return _build(self.tables, self.name, self.source, combine(self.overrides, merge(overrides, model, tables)))


def load_plant(
    name: str | Path,
    *,
    model: str | Mapping[str, Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
    **tables: Any,
) -> Plant:
    """Return a plant of the catalogue or of any TOML file.

    Parameters
    ----------
    name : str or Path
        Catalogue name (see `list_plants`) or path of a `.toml` file, or of a linear plant: .mat, .npz, .json, .mtx. A
        linear plant has other overrides, see `flexctl.catalogue.linear_plant`. To a measured frequency response (these
        files too, .csv, .uff) a linear plant is fitted; a `DataWarning` states how well.
    model : str or mapping, optional
        Another solver than the file's, or options of the solver: `model={"sections": 40}`.
    overrides : mapping, optional
        Dotted key -> value, for example `{"payload.mass": 0.02, "link.1.length": 1.2}`.
    **tables
        The same by table: `payload={"mass": 0.02}`, `link={1: {"length": 1.2}}`.

    Raises
    ------
    DefinitionError
        When the file or an override is wrong; the message names file, table, key, value, bound and remedy.

    Examples
    --------
    >>> arm = fx.load_plant("tokhi_azad_1994", payload={"mass": 0.01})
    >>> print(arm.name, arm.kind, arm.arm.links[0].length, "m")
    tokhi_azad_1994 finite_difference 0.96 m
    """
    path, source = locate("plants", name)
    if path.suffix.lower() in SAVED:
        return _saved(path, merge(overrides, model, tables))
    with located(source):
        tree = read_tree(path)
    if of_matrices(tree):
        from .matrices import matrix_plant

        return matrix_plant(tree, path, source, merge(overrides, model, tables))
    return _build(_placed(tree, path.parent), path.stem, source, merge(overrides, model, tables))


def _saved(path: Path, overrides: Mapping[str, Any]) -> Plant:
    """Return the linear plant of a file of matrices."""
    from ..linear import FirstOrder, SecondOrder
    from .linear_plant import LinearSystem

    require("model.kind" not in overrides, f"{path} is a linear plant, of which there is no other model")
    linear = opened(path)
    if is_measured(linear):
        from ..identify.fitted import fitted_file

        found = fitted_file(path, linear)
    else:
        require(isinstance(linear, SecondOrder | FirstOrder), f"{path} holds {linear!r}, which is not a plant")
        found = LinearSystem(linear, path.stem, str(path))
    return found.with_(overrides) if overrides else found


def model_files(name: str | Path, overrides: Mapping[str, Any]) -> list[Path]:
    """Return the files of the models that a plant file and overrides name; these are not loaded."""
    path, source = locate("plants", name)
    if path.suffix.lower() in SAVED:
        return sorted(path.parent.glob("*.mtx")) if path.suffix.lower() == ".mtx" else []
    with located(source):
        tree = _placed(read_tree(path), path.parent)
    if of_matrices(tree):
        from .matrices import files_of

        return files_of(tree, path)
    model = tree.get("model")
    named = [model.get("kind") if isinstance(model, dict) else None, merge(overrides, None, {}).get("model.kind")]
    files = [outside.file_of(kind) for kind in named if isinstance(kind, str)]
    return [file for file in files if file is not None]


def _placed(tree: Tree, folder: Path) -> Tree:
    """Return the tables with a model's file, which is looked for beside the plant file, by its full path."""
    model = tree.get("model")
    if not isinstance(model, dict) or not isinstance(model.get("kind"), str):
        return tree
    return {**tree, "model": {**model, "kind": outside.absolute(model["kind"], folder)}}


def _build(tree: Tree, name: str, source: str, overrides: Mapping[str, Any]) -> Plant:
    with located(source):
        said = read_definition(tree, name)
    if overrides:
        changes = ", ".join(f"{key} = {_brief(value)}" for key, value in overrides.items())
        with located(f"{source} with {changes}"):
            said = overridden(tree, name, overrides)
    return Plant(
        name, said.title, said.reference, said.arm, said.kind, said.options,
        dict(overrides), said.expected, said.rows, source, tree, said.uncertainty,
    )


def load_controller(name: str | Path) -> ModuleType:
    """Return a controller script of the catalogue, or any `.py` file, as a module with a `design` function.

    Raises
    ------
    DefinitionError
        When the script cannot be read or executed (the script's own error is chained) or has no `design`.

    Examples
    --------
    >>> script = fx.load_controller("tokhi_azad_lqg")
    >>> script.PLANT
    'tokhi_azad_1994'
    >>> script.design(fx.load_plant(script.PLANT)).measures
    ('joint1_angle', 'chord1_angle')
    """
    path, source = locate("controllers", name)
    require(path.is_file() and path.suffix == ".py", f"{source}: cannot read the file: there is no such .py file")
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(f"flexctl_controller_{path.stem}_{digest}", path)
    if spec is None or spec.loader is None:
        raise DefinitionError(f"{source}: cannot read the file: Python finds no loader for it")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # data classes in the script look their module up while they are made
    try:
        with _script_errors(source, path):
            spec.loader.exec_module(module)
        found = callable(getattr(module, "design", None))
        require(found, f"{source}: has no function design(plant) that returns the controller; add it")
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def own_plant(script: ModuleType) -> Any:
    """Return what a controller script names in PLANT, None if nothing; a file is looked for beside the script first."""
    name = getattr(script, "PLANT", None)
    if not isinstance(name, str | Path):
        return name
    beside = Path(script.__file__ or "").parent / name
    return str(beside) if Path(name).suffix.lower() in (ENDINGS["plants"], *SAVED) and beside.is_file() else str(name)


@contextmanager
def _script_errors(source: str, path: Path) -> Iterator[None]:
    """Report what a script raises as `DefinitionError` with the script's file and line."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise DefinitionError(f"{source}{_line_of(error, path)}: {type(error).__name__}: {error}") from error


def _line_of(error: BaseException, path: Path) -> str:
    """Return ", line N" for the last line of the script that took part in an error."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path]
    return f", line {lines[-1]}" if lines else ""


def _brief(value: Any) -> str:
    text = f"{value:.9g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."
