"""The result of a run: time series with names and units, scores, and where it came from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..errors import DefinitionError, require, unknown
from ..model import FloatArray, Signal, names
from ..support.files import reason_of
from ..support.tabular import Column, Tabular

if TYPE_CHECKING:
    import control


@dataclass(frozen=True, eq=False)
class Response(Tabular):
    """Time series of a run.

    Attributes
    ----------
    t : ndarray
        Times [s], nt.
    y : ndarray
        Outputs, nt x ny: what a sensor reads, before any jump of the inputs at that time.
    u : ndarray
        Inputs, nt x p: what is applied from that time on.
    r : ndarray
        Value of each reference channel, nt x number of channels.
    outputs, inputs, references : tuple of Signal
        Names and units of the columns.
    q, v : ndarray or None
        Coordinates and rates, when they were recorded.
    coordinates : tuple of Signal
        Names of the columns of q.
    scores : mapping
        Numbers that compare runs; see `flexctl.simulation.scores`.
    provenance : mapping
        plant, model, overrides, version, method, steps taken and taken again, shortest and longest step, worst output.
    error : mapping
        For each output and input the estimated largest error of the integration in its unit, in the run; nan where none
        is estimated: accelerations, torques of prescribed joints in steps that are given and not doubtful, and what
        `provenance["not_estimated"]` names with its reason.

    Examples
    --------
    >>> arm = fx.load_plant("tokhi_azad_1994")
    >>> run = fx.simulate(arm, inputs={"joint1_torque": fx.bang_bang(0.1, 0.3)}, duration=1.2)
    >>> run.unit("tip_displacement"), run["tip_displacement"].size
    ('m', 1201)
    >>> run.save("run.csv").name
    'run.csv'
    """

    t: FloatArray
    y: FloatArray
    u: FloatArray
    r: FloatArray
    outputs: tuple[Signal, ...]
    inputs: tuple[Signal, ...]
    references: tuple[Signal, ...] = ()
    q: FloatArray | None = None
    v: FloatArray | None = None
    coordinates: tuple[Signal, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    error: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Response({self.t.size} points to {self.t[-1]:g} s, {names(self.inputs)} -> {names(self.outputs)})"

    def __getitem__(self, name: str) -> FloatArray:
        """Return one time series by the name of an output, input, coordinate, or "reference:" plus a channel."""
        columns = self._columns()
        if name not in columns:
            raise unknown("time series", name, columns)
        return columns[name][1]

    def _columns(self) -> dict[str, tuple[str, FloatArray]]:
        columns: dict[str, tuple[str, FloatArray]] = {}
        groups = [(self.outputs, self.y, ""), (self.inputs, self.u, ""), (self.references, self.r, "reference:")]
        if self.q is not None:
            groups.append((self.coordinates, self.q, ""))
        for signals, data, prefix in groups:
            for i, signal in enumerate(signals):
                columns.setdefault(prefix + signal.name, (signal.unit, data[:, i]))
        return columns

    def unit(self, name: str) -> str:
        """Return the unit of a time series."""
        columns = self._columns()
        if name not in columns:
            raise unknown("time series", name, columns)
        return columns[name][0]

    def error_part(self, name: str) -> float:
        """Return the estimated error of a time series as a part of its range; 0 where none is estimated."""
        error, extent = self.error.get(name, np.nan), float(np.ptp(self[name])) if name in self.error else 0.0
        return float(error / extent) if np.isfinite(error) and extent > 0.0 else 0.0

    @property
    def acting(self) -> list[str]:
        """Names of the inputs that are not zero all the time; of all inputs where none acts."""
        every = names(self.inputs)
        return [name for i, name in enumerate(every) if np.any(self.u[:, i])] or list(every)

    _index = "time"

    def _table(self) -> list[Column]:
        """Return time, outputs, inputs, references and coordinates; heads of outputs say their estimated error."""
        near = {name: f" +- {value:.2g}" for name, value in self._known_errors().items() if value > 0.0}
        series = [Column(name, data, unit, near.get(name, "")) for name, (unit, data) in self._columns().items()]
        return [Column("time", self.t, "s"), *series]

    def _about(self) -> Mapping[str, Any]:
        return {**self.provenance, "scores": dict(self.scores), "error": self._known_errors()}

    def _summary(self) -> list[Column]:
        series = self._table()[1:]
        columns: dict[str, Callable[[Any], Any]] = {"smallest": np.min, "largest": np.max, "last": lambda x: x[-1]}
        found = [Column(name, [float(of(c.values)) for c in series]) for name, of in columns.items()]
        errors = [self.error.get(c.name, np.nan) for c in series]
        known = [error if np.isfinite(error) else None for error in errors]
        return [Column("signal", [f"{c.name} [{c.unit}]" for c in series]), *found, Column("estimated error", known)]

    def _known_errors(self) -> dict[str, float]:
        return {name: value for name, value in self.error.items() if np.isfinite(value)}

    def to_control(self) -> control.TimeResponseData:
        """Return the run as python-control's `TimeResponseData`."""
        import control

        return control.TimeResponseData(
            self.t, self.y.T, np.zeros((0, self.t.size)) if self.q is None else self.q.T, self.u.T, issiso=False,
            output_labels=names(self.outputs), input_labels=names(self.inputs),
            state_labels=None if self.q is None else names(self.coordinates),
            title=str(self.provenance.get("plant", "flexctl run")),
        )

    def _formats(self) -> dict[str, Callable[[IO[bytes]], Any]]:
        return {**super()._formats(), ".npz": self._write_npz}

    def _write_npz(self, stream: IO[bytes]) -> None:
        """Write a file that `Response.load` reads back, bit for bit."""
        labels = {
            key: [[s.name, s.unit, s.description] for s in getattr(self, key)]
            for key in ("outputs", "inputs", "references", "coordinates")
        }
        told = {
            "labels": labels, "scores": dict(self.scores), "provenance": dict(self.provenance),
            "error": self._known_errors(),  # JSON has no nan
        }
        meta = json.dumps(told, default=str)
        arrays = {key: getattr(self, key) for key in ("t", "y", "u", "r", "q", "v") if getattr(self, key) is not None}
        np.savez_compressed(stream, meta=np.array(meta), **arrays)

    @classmethod
    def load(cls, path: str | Path) -> Response:
        """Read a run that `save` wrote as .npz; a file that is damaged or something else is refused."""
        try:
            with np.load(Path(path), allow_pickle=False) as data:
                meta = json.loads(str(data["meta"]))
                arrays = {key: data[key] for key in data.files if key != "meta"}
            labels = {key: tuple(Signal(*row) for row in rows) for key, rows in meta["labels"].items()}
            fields: dict[str, Any] = {**arrays, **labels}
            known = meta.get("error", {})
            rows = (*labels["outputs"], *labels["inputs"])
            error_of = {s.name: float(known.get(s.name, np.nan)) for s in rows}
            found = cls(**fields, scores=meta["scores"], provenance=meta["provenance"], error=error_of)
            _check_whole(found)
        except FileNotFoundError as error:
            raise DefinitionError(f"{path}: no such file") from error
        except Exception as error:
            raise DefinitionError(f"{path}: not a run written by flexctl, or damaged ({reason_of(error)})") from error
        return found


def error_numbers(run: Response) -> dict[str, float | None]:
    """Return `run.error` as JSON takes it: None where there is no estimate."""
    return {name: float(value) if np.isfinite(value) else None for name, value in run.error.items()}


def _check_whole(run: Response) -> None:
    """Raise `DefinitionError` unless times, columns and labels of a run belong together."""
    steps = (run.t.size,)
    require(run.t.ndim == 1 and run.t.size > 0, f"times of shape {run.t.shape}")
    require(bool(np.isfinite(run.t).all() and (np.diff(run.t) >= 0.0).all()), "times that do not ascend")
    columns = {
        "y": run.outputs, "u": run.inputs, "r": run.references, "q": run.coordinates, "v": run.coordinates
    }
    for name, signals in columns.items():
        data = getattr(run, name)
        wanted = (*steps, len(signals))
        fits = data is None or data.shape == wanted
        require(fits, f"{name} has shape {np.shape(data)} and {len(signals)} labels for {steps[0]} times")
    every = [data for data in (run.t, run.y, run.u, run.r, run.q, run.v) if data is not None]
    require(all(data.dtype.kind == "f" for data in every), "time series that are not numbers")
    texts = [x for key in columns.values() for s in key for x in (s.name, s.unit, s.description)]
    require(all(isinstance(x, str) for x in texts), "names that are not texts")
    proper = isinstance(run.scores, dict) and all(isinstance(x, int | float) for x in run.scores.values())
    require(proper and isinstance(run.provenance, dict), "scores or provenance are not tables")
