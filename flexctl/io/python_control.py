"""The border: plants to and from files, python-control and users' own matrices.

A saved plant holds its first-order form A, B, C, D in modal coordinates, for direct use in MATLAB or Octave, and M,
Damping, K, B_force, Cq, Cv, Ca, Du with labels, units, operating point, basis and provenance, from which `load_linear`
restores the identical plant. In MATLAB: ``load plant.mat; sys = ss(A, B, C, D)``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DefinitionError, NotAvailable, did_you_mean, require
from ..frequency import FrequencyResponse
from ..linear import FirstOrder, SecondOrder
from ..linear.equilibrium import accelerations
from ..linear.matrices import from_matrices, signals
from ..linear.realise import first_order
from ..machine.given import MEASURED, LinearGiven, ModelGiven, as_linear, as_model
from ..model import FloatArray, OperatingPoint, Signal, names
from ..support.files import write_atomically
from .gains import gains_in, holds_columns, holds_gains
from .records import Record, read_raw, read_record, record_bytes, suffix_of, write_record

if TYPE_CHECKING:
    import control

__all__ = ["from_control", "from_matrices", "load_linear", "nonlinear", "save_linear", "write_atomically"]

_FORMAT = 1
_FIRST = ("A", "B", "C", "D")
# D and B of the second-order form must not hide those of the first-order form in one MATLAB workspace.
_SECOND = {"M": "M", "D": "Damping", "K": "K", "B": "B_force", "Cq": "Cq", "Cv": "Cv", "Ca": "Ca", "Du": "Du"}
_POINT = ("q", "v", "a", "u", "lam")
_LABELS = {"coordinates": "coordinate", "states": "state", "inputs": "input", "outputs": "output"}


def save_linear(plant: LinearGiven, path: str | Path) -> Path:
    """Write a plant to .mat, .npz or .json, chosen by the suffix; `load_linear` reads back the identical plant.

    A file appears only when it is complete. Raises `DefinitionError` for an unknown suffix, a missing folder or a path
    that cannot be written.

    Examples
    --------
    >>> fx.save_linear(fx.load_plant("tokhi_azad_1994").linearise(), "plant.mat").name
    'plant.mat'
    """
    plant = as_linear(plant)
    suffix_of(Path(path))
    return write_record(path, _record(plant))


def linear_bytes(plant: LinearGiven, suffix: str) -> bytes:
    """Return what `save_linear` writes into a file of a suffix: ".mat", ".npz" or ".json"."""
    return record_bytes(suffix, _record(as_linear(plant)))


def linear_bytes_beside(plant: FirstOrder, others: Mapping[str, FirstOrder]) -> bytes:
    """Return a .mat file of a system, with matrices and names of others beside it, as plant_A, plant_inputs, ..."""
    record = _record(plant)
    for name, other in others.items():
        record |= {f"{name}_{key}": value for key, value in _first_order_record(other).items()}
    return record_bytes(".mat", record)


def _record(plant: SecondOrder | FirstOrder) -> Record:
    record: Record = {"flexctl_format": float(_FORMAT), "kind": type(plant).__name__}
    if isinstance(plant, FirstOrder):
        return record | _first_order_record(plant) | {"provenance": _to_json(plant.provenance)}
    try:
        realised = first_order(plant)
    except DefinitionError as error:  # an impulsive plant has no A, B, C, D; its M, D, K are still worth saving
        record |= {"form": "none", "form_note": str(error)}
    else:
        record |= _first_order_record(realised)
    record |= {key: _plain(getattr(plant, name)) for name, key in _SECOND.items()}
    record |= _label_record("coordinates", plant.coordinates)
    record |= _label_record("inputs", plant.inputs) | _label_record("outputs", plant.outputs)
    if plant.basis is not None:
        record["basis"] = _plain(plant.basis)
    if plant.operating_point is not None:
        record |= {f"operating_{name}": _plain(getattr(plant.operating_point, name)) for name in _POINT}
    return record | {"provenance": _to_json(plant.provenance)}


def _first_order_record(plant: FirstOrder) -> Record:
    record: Record = {name: _plain(getattr(plant, name)) for name in _FIRST}
    record |= {"dt": plant.dt, "form": str(plant.provenance.get("form", ""))}
    for kind in ("states", "inputs", "outputs"):
        record |= _label_record(kind, getattr(plant, kind))
    return record


def _plain(matrix: FloatArray) -> FloatArray:
    return np.asarray(matrix, dtype=float)


def _label_record(kind: str, group: tuple[Signal, ...]) -> Record:
    word = _LABELS[kind]
    return {
        kind: [s.name for s in group],
        f"{word}_units": [s.unit for s in group],
        f"{word}_descriptions": [s.description for s in group],
    }


def _to_json(provenance: Mapping[str, Any]) -> str:
    return json.dumps(dict(provenance), default=_jsonable)


def _jsonable(value: Any) -> Any:
    """Return NumPy numbers and arrays, mappings and paths as JSON has them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else str(value)


def load_linear(path: str | Path) -> SecondOrder | FirstOrder:
    """Return the plant in a .mat, .npz or .json file, or of a group of .mtx files by one of them.

    Files that `save_linear` wrote give the identical plant. In any other file the matrices M, K and, if present, D (or
    Damping), B (or B_force), Cq (or C), Cv, Ca, Du, G make a second-order plant, A, B, C, D, dt a first-order one; see
    `from_matrices`. Labels may come along as coordinates, states, inputs, outputs, with units in brackets
    ("torque [N m]") or as e.g. input_units.
    MATLAB files of version 7.3 need h5py. `flexctl.io.market` explains how the files of a group are named.

    Examples
    --------
    >>> path = fx.save_linear(fx.load_plant("tokhi_azad_1994").linearise(), "plant.npz")
    >>> fx.load_linear(path)
    SecondOrder(20 coordinates, ['joint1_torque'] ->
    ['joint1_angle', 'joint1_rate', 'tip_displacement', 'chord1_angle', 'chord1_rate', 'link1_deflection', 'tip_x',
    'tip_y', 'tip_error_x', 'tip_error_y'])
    """
    record = read_record(path)
    try:
        plant = _own(record) if "flexctl_format" in record else _foreign(record, Path(path))
    except DefinitionError as error:
        raise DefinitionError(f"{path}: {error}") from error
    return plant


def load_any(path: str | Path) -> SecondOrder | FirstOrder | FrequencyResponse:
    """Return the plant in a file, or the measured frequency response (`flexctl.io.gains`) that it holds."""
    place = Path(path)
    if place.suffix.lower() in MEASURED:
        return _of_columns(place)
    content = {} if place.suffix.lower() == ".mtx" else read_raw(place)
    if holds_columns(content):
        return _of_columns(place)
    return gains_in(content, place) if holds_gains(content) else load_linear(place)


def _of_columns(path: Path) -> FrequencyResponse:
    """Return a measured response with a column for each channel, or of a universal file."""
    from ..identify import read_frf

    return read_frf(path)


def _own(record: Record) -> SecondOrder | FirstOrder:
    kind, version = _text(record, "kind"), float(_array(record, "flexctl_format", ()))
    require(version <= _FORMAT, f"format {version:g} is newer than this flexctl; update it")
    require(kind in ("SecondOrder", "FirstOrder"), f'unknown kind of plant "{kind}"')
    u, y = _signals(record, "inputs"), _signals(record, "outputs")
    try:
        provenance = json.loads(_text(record, "provenance"))
    except json.JSONDecodeError as error:
        raise DefinitionError(f"provenance is damaged: {error}") from error
    require(isinstance(provenance, dict), "provenance is damaged: not a mapping")
    if kind == "FirstOrder":
        x = _signals(record, "states")
        n, p, ny = len(x), len(u), len(y)
        A, B = _array(record, "A", (n, n)), _array(record, "B", (n, p))
        C, D = _array(record, "C", (ny, n)), _array(record, "D", (ny, p))
        return FirstOrder(A, B, C, D, x, u, y, float(_array(record, "dt", ())), provenance)
    q = _signals(record, "coordinates")
    n, p, ny = len(q), len(u), len(y)
    M, D, K = (_array(record, key, (n, n)) for key in ("M", "Damping", "K"))
    Cq, Cv, Ca = (_array(record, key, (ny, n)) for key in ("Cq", "Cv", "Ca"))
    B, Du = _array(record, "B_force", (n, p)), _array(record, "Du", (ny, p))
    basis = _array(record, "basis", (-1, n)) if "basis" in record else None
    return SecondOrder(M, D, K, B, Cq, Cv, Ca, Du, q, u, y, _operating_point(record), basis, provenance)


def _operating_point(record: Record) -> OperatingPoint | None:
    if "operating_q" not in record:
        return None
    return OperatingPoint(*(_array(record, f"operating_{name}", (-1,)) for name in _POINT))


def _array(record: Record, key: str, shape: tuple[int, ...]) -> FloatArray:
    value = record.get(key)
    require(value is not None, f"{key} is missing")
    try:
        return np.asarray(value, dtype=float).reshape(shape)
    except (ValueError, TypeError) as error:
        raise DefinitionError(f"{key} does not fit the labels: {error}") from error


def _text(record: Record, key: str) -> str:
    value = record.get(key)
    require(isinstance(value, str), f"{key} is missing or not a text")
    return str(value)


def _list(record: Record, key: str, count: int | None = None, default: str = "") -> list[str]:
    """Return a list of texts; one text is a list of one, an empty array an empty list."""
    value: Any = record.get(key)
    if value is None and count is not None:
        return [default] * count
    if isinstance(value, str):
        value = [value] if count != 0 else []
    texts = list(value) if isinstance(value, list) else []
    require(isinstance(value, list) or np.size(value) == 0, f"{key} is not a list of names")
    require(count is None or len(texts) == count, f"{key} has {len(texts)} entries for {count} names")
    return texts


def _signals(record: Record, kind: str) -> tuple[Signal, ...]:
    word = _LABELS[kind]
    require(kind in record, f"{kind} is missing")
    labels = _list(record, kind)
    units = _list(record, f"{word}_units", len(labels), "1")
    notes = _list(record, f"{word}_descriptions", len(labels))
    return tuple(Signal(*parts) for parts in zip(labels, units, notes, strict=True))


_ALIASES = {"Damping": "D", "B_force": "B", "C": "Cq", "Ts": "dt"}
_MATRICES = ("M", "D", "K", "B", "Cq", "Cv", "Ca", "Du", "G", "A", "dt")
_WORDS = {"mass": "M", "stiffness": "K", "damping": "D", "input": "B", "output": "Cq", "closure": "G", "state": "A"}


def _foreign(record: Record, path: Path) -> SecondOrder | FirstOrder:
    """Return the plant of a user's own file."""
    return from_matrices(**_arguments(record), provenance={"plant": path.stem, "source": path.name})


def given_in(path: str | Path) -> dict[str, Any]:
    """Return what the file of a plant gives to `from_matrices`, by name."""
    record = read_record(path)
    try:
        if "flexctl_format" not in record:
            return _arguments(record)
        plant = _own(record)
    except DefinitionError as error:
        raise DefinitionError(f"{path}: {error}") from error
    signals = {"inputs": plant.inputs, "outputs": plant.outputs}
    if isinstance(plant, FirstOrder):
        own = {key: getattr(plant, key) for key in _FIRST}
        return {**own, "dt": plant.dt, "states": plant.states, **signals}
    parts = {key: getattr(plant, key) for key in _SECOND}
    return {**parts, "coordinates": plant.coordinates, **signals}


def _arguments(record: Record) -> dict[str, Any]:
    """Return the arguments of `from_matrices` in a user's own file."""
    second, first = [k for k in ("M", "K") if k in record], "A" in record
    require(not (second and first), f"the file has both {' and '.join(second)} and A; keep one set of matrices")
    aliases = {"Ts": "dt"} if first else _ALIASES
    given: dict[str, Any] = {}
    for key, value in record.items():
        name = aliases.get(key, key)
        if name in (*_MATRICES, *(("C",) if first else ())):
            require(name not in given, f'the file has "{key}" and another name for the same matrix; keep one')
            given[name] = value
    _refuse_lookalikes(record, given)
    if not first and "C" in record and "D" not in given:
        shape = np.shape(record["C"])
        square = len(shape) == 2 and shape[0] == shape[1] > 1
        require(not square, "C is square and there is no D: call the damping D, and output rows Cq")
    if "dt" in given:
        given["dt"] = float(_array(given, "dt", ()))
    for kind in _LABELS:
        if kind in record:
            given[kind] = _units(record, kind)
    return given


def _units(record: Record, kind: str) -> tuple[Signal, ...]:
    """Return labels as `from_matrices` takes them: without lists of units a unit may stand in the name, "u [N m]"."""
    word = _LABELS[kind]
    plain = not {f"{word}_units", f"{word}_descriptions"} & record.keys()
    found: Sequence[str | Signal] = _list(record, kind) if plain else _signals(record, kind)
    return signals(word, found, len(found), "")


def _refuse_lookalikes(record: Record, given: Mapping[str, Any]) -> None:
    """Raise for a matrix whose name looks like one of ours that is missing; other variables do not matter."""
    for key, value in record.items():
        if isinstance(value, str | list) or np.size(value) < 2 or key in (*given, *_ALIASES):
            continue
        near = [name for name in _MATRICES if name.lower() == key.lower()]
        near += [_WORDS[w] for w in _WORDS if did_you_mean(key.lower(), [w]) or key.lower().startswith(w)]
        missing = [name for name in near if name not in given]
        if missing:
            raise DefinitionError(f'unknown matrix "{key}" (did you mean "{missing[0]}"?)')
    if "A" not in given:
        lacking = [name for name in ("M", "K") if name not in given]
        there = sorted(record) or "no matrices (structures and objects are not looked into)"
        require(not lacking, f"{' and '.join(lacking)} missing among {there}; give M and K, or A, B, C, D")


def from_control(system: Any) -> FirstOrder:
    """Return a python-control state space (or transfer function) as a plant; its labels are kept.

    Examples
    --------
    >>> import control
    >>> plant = fx.from_control(control.ss([[-1.0]], [[1.0]], [[1.0]], [[0.0]], inputs=["u"], outputs=["y"]))
    >>> plant
    FirstOrder(1 states, ['u'] -> ['y'], continuous)
    """
    import control

    if isinstance(system, control.FrequencyResponseData):
        raise NotAvailable(
            "a FrequencyResponseData has no states: fit a plant to it (fx.identify.modal), or give it as it is to "
            "fx.simulate, fx.certify or fx.loop_gain"
        )
    if isinstance(system, control.TransferFunction):
        try:
            system = control.ss(system, inputs=system.input_labels, outputs=system.output_labels)
        except ValueError as error:
            raise DefinitionError(f"this TransferFunction is not a plant in states: {error}") from error
    if not isinstance(system, control.StateSpace):
        raise NotAvailable(f"a {type(system).__name__} has no state space; give a control.StateSpace")
    require(system.dt is not True, "the sample time of this system is not specified; give dt in seconds")
    labels = (system.state_labels, system.input_labels, system.output_labels)
    x, u, y = (tuple(Signal(str(label)) for label in group) for group in labels)
    A, B, C, D = (np.array(m, dtype=float) for m in (system.A, system.B, system.C, system.D))
    return FirstOrder(A, B, C, D, x, u, y, float(system.dt or 0.0), {"plant": str(system.name)})


def response_from_control(data: Any) -> FrequencyResponse:
    """Return python-control's frequency response data; those with a sample time are taken as seen through its hold."""
    at = np.asarray(data.omega, float)
    u, y = (tuple(Signal(str(label)) for label in group) for group in (data.input_labels, data.output_labels))
    H = np.asarray(data.frdata, complex)
    require(data.dt is not True, "the sample time of these data is not specified; give dt in seconds")
    order = np.argsort(at)
    if not data.dt:
        return FrequencyResponse(at[order], H[:, :, order], u, y)
    from ..identify.response import MeasuredResponse

    return MeasuredResponse(at[order], H[:, :, order], u, y, dt=float(data.dt), held=True)


def nonlinear(model: ModelGiven) -> control.NonlinearIOSystem:
    """Return a model as a labelled `control.nlsys` with states (q, v).

    Closure equations are enforced on the accelerations, G a = -(dG/dt) v: start values must satisfy g(q) = 0 and
    G v = 0, and long simulations drift off slowly. Simulate with `flexctl.simulate` and linearise with
    `flexctl.linearise` instead: `control.linearize` of a model with closures yields poles that do not exist.

    Examples
    --------
    >>> system = fx.nonlinear(fx.load_plant("planar_2r_flexible", model={"elements": 1}).model)
    >>> system.ninputs
    5
    """
    import control

    model = as_model(model)
    n = len(model.coordinates)

    def update(t: float, x: FloatArray, u: FloatArray, params: Mapping[str, Any]) -> FloatArray:
        a, _ = accelerations(model, x[:n], x[n:], np.atleast_1d(u), t)
        return np.concatenate([x[n:], a])

    def output(t: float, x: FloatArray, u: FloatArray, params: Mapping[str, Any]) -> FloatArray:
        a, _ = accelerations(model, x[:n], x[n:], np.atleast_1d(u), t)
        return model.output(x[:n], x[n:], a, np.atleast_1d(u))

    q = names(model.coordinates)
    return control.nlsys(
        update, output, states=[*q, *(f"{name}_rate" for name in q)],
        inputs=names(model.inputs), outputs=names(model.outputs), name=model.kind,
    )
