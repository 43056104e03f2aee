"""Parameters of a plant file from measurements: records and frequency responses together.

Parameters are positive and move in their logarithms. First magnitudes alone (where there are frequency responses or
periodic records), with a robust loss; then complex gains over their deviations and records over the root mean square of
their misfit, over longer and longer parts of the records; the delay is scanned in whole samples.

Records begin at rest; each output has an offset of its own. The model is linear about rest with the dry friction of the
joints (`flexctl.identify.sampled`), or, of records, the full one (`flexctl.identify.full_model`): large turns, play,
stiffening joints, limits; the search goes on to it where the linear one leaves what it would explain
(`flexctl.identify.to_full`). Frequency responses are always those of the linear model.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import require, unknown
from ..machine.given import as_plant
from ..model import ComplexArray, FloatArray, names
from ..support.checks import real
from ..support.tabular import Column, Tabular
from ..support.threads import one_thread
from . import damped, feedback, meshes, quality
from .branches import other_curves
from .explained import Explained, explained
from .full_model import outputs_of
from .problem import Problem, Setting, problem, unexcited
from .record import Record
from .response import MeasuredResponse
from .sampled import FINE, delayed, sampled
from .search import DELAYS, first_guess, fitted, horizons, neighbours, scanned, weighted
from .steps import shorter_steps
from .subspace import fit_percent
from .to_full import may_turn, on_full_model, with_engine
from .trust import Trust, refined, trust

if TYPE_CHECKING:
    from ..catalogue import Plant

CLOSE, ILL, WIDE, COLOURED = 0.95, 1e6, 0.3, 0.1
ENGINES = ("auto", "linear", "full")
AGAIN = 8
"""Most by which a mesh is made finer at once where the search begins again."""


@dataclass(frozen=True, eq=False)
class Identified(Tabular):
    """Parameters of a plant identified from measurements.

    Attributes
    ----------
    plant : Plant
        The plant with these parameters.
    values, start, sigma : mapping
        For each free key the value found, the one at the start, and its standard deviation, in the key's unit.
    correlation : ndarray
        Correlation of the parameters (of their logarithms), in the order of `values`.
    delay : int
        Delay of the input in samples.
    late : int
        1 if sensors read before the input jumps, 0 if after; matters for outputs with feed-through.
    chi2 : float
        Mean square of residual over deviation; of records alone it is 1 by their weights.
    fit : mapping
        (data, output) -> 100 (1 - |y - model| / |y - mean|) [%].
    whiteness : mapping
        (data, output) -> part of 40 lags at which the misfit is correlated (99 % band): 0.01 if it is white.
    condition : float
        Of the normal equations, columns scaled; above 1e6 the data do not separate the parameters.
    cautions : tuple of str
        The warnings that came with the result.
    misfit : mapping
        (data, output) -> measured minus modelled.
    times_noise : mapping
        (data, output) -> misfit over the noise of the data, both rms: 1 where the model explains them.
    unexplained : float
        0 where the model explains the data, else the largest of `times_noise` that sensor noise does not explain:
        the deviations then cover how far parts of the data disagree, not errors that the model makes throughout.
    not_converged : str
        Why the search ended before it had converged; empty where it has.
    substeps : int
        Steps in a sample with which the full model follows records; 0: they are those of the linear one.

    Examples
    --------
    >>> arm = fx.load_plant("tokhi_azad_1994", damping={"kind": "modal", "ratio": 0.01}, payload={"inertia": 1e-6})
    >>> w = np.linspace(5.0, 450.0, 120)
    >>> H = arm.with_({"payload.mass": 0.02}).linearise().transfer(1j * w)[:1]
    >>> data = fx.identify.measured_response(w, H, ["joint1_torque [N m]"], ["joint1_angle [rad]"], relative=0.01)
    >>> found = fx.identify.parameters(arm, data, free=["payload.mass"], start={"payload.mass": 0.01}, mesh=False)
    >>> print(round(found.values["payload.mass"], 5))
    0.02
    """

    plant: Plant
    values: Mapping[str, float]
    start: Mapping[str, float]
    sigma: Mapping[str, float]
    correlation: FloatArray
    delay: int
    late: int
    chi2: float
    fit: Mapping[tuple[str, str], float]
    whiteness: Mapping[tuple[str, str], float]
    condition: float
    cautions: tuple[str, ...]
    misfit: Mapping[tuple[str, str], FloatArray]
    formal: Mapping[str, float]
    mesh: Mapping[str, float]
    substeps: int = 0
    times_noise: Mapping[tuple[str, str], float] = field(default_factory=dict)
    unexplained: float = 0.0
    not_converged: str = ""
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        said = ", ".join(f"{key} = {value:.6g} +- {self.sigma[key]:.2g}" for key, value in self.values.items())
        wrong = f", NOT EXPLAINED: misfit {self.unexplained:.3g} times the noise" if self.unexplained else ""
        wrong += ", NOT CONVERGED" if self.not_converged else ""
        return f"Identified({said}; delay {self.delay} samples, chi^2 {self.chi2:.3g}{wrong})"

    def predict(self, data: Record) -> FloatArray:
        """Return the outputs of the plant under the inputs of a record, from rest, with the offsets of that record."""
        data = data.choose(outputs=[n for n in names(data.outputs) if n in names(self.plant.model.outputs)])
        if self.substeps:
            y = delayed(outputs_of(self.plant, data, data.t.size, self.substeps), self.delay)
        else:
            model = sampled(self.plant, names(data.inputs), names(data.outputs), data.nyquist)
            y = model.outputs(data.u, data.dt, data.held, self.delay, self.late, FINE)
        return np.asarray(y + (data.y - y).mean(axis=0))

    def validate(self, data: Record) -> dict[str, float]:
        """Return the fit [%] to data that were not used, output by output."""
        data = data.choose(outputs=[n for n in names(data.outputs) if n in names(self.plant.model.outputs)])
        return fit_percent(data, self.predict(data))

    def response(self, data: MeasuredResponse) -> ComplexArray:
        """Return the frequency response of the plant at the lines of a measured one, sampled and delayed like it."""
        model = sampled(
            self.plant, names(data.inputs), names(data.outputs), np.pi / data.dt if data.dt > 0.0 else np.inf
        )
        return model.response(data.omega, data.dt, data.held, self.delay if data.dt else 0, self.late)

    @property
    def uncertainty(self) -> Any:
        """The Gaussian of the parameters, to draw plants from."""
        from ..catalogue.uncertainty import Uncertainty

        return Uncertainty(
            tuple(self.values),
            tuple(self.sigma[key] for key in self.values),
            tuple(map(tuple, self.correlation.tolist())),
            str(self.provenance.get("identified", "identified")),
        )

    def save(self, path: str | Path) -> Path:
        """Write the plant file with these values (.toml), or the table of parameters (.csv, .json, .npz, .mat).

        The values' provenance becomes "identified: file, date", and [uncertainty] holds deviations and correlation.
        """
        if isinstance(path, str | Path) and Path(path).suffix.lower() == ".toml":
            from .written import write_plant

            return write_plant(self, path)
        return super().save(path)

    def _table(self) -> list[Column]:
        keys = list(self.values)
        units = {row.key: row.unit for row in self.plant.rows}
        return [
            Column("parameter", keys),
            Column("unit", [units.get(k, "") for k in keys]),
            Column("start", [self.start[k] for k in keys]),
            Column("value", [self.values[k] for k in keys]),
            Column("sigma", [self.sigma[k] for k in keys]),
            Column("relative_sigma", [100.0 * self.sigma[k] / self.values[k] for k in keys], "%"),
        ]

    def _about(self) -> Mapping[str, Any]:
        return {
            **self.provenance,
            "delay_samples": self.delay,
            "chi2": self.chi2,
            "unexplained": self.unexplained,
            "not_converged": self.not_converged,
            "times_noise": {f"{a}: {b}": v for (a, b), v in self.times_noise.items()},
            "condition": self.condition,
            "correlation": self.correlation.tolist(),
            "cautions": list(self.cautions),
            "fit_percent": {f"{a}: {b}": v for (a, b), v in self.fit.items()},
            "whiteness": {f"{a}: {b}": v for (a, b), v in self.whiteness.items()},
        }


def parameters(
    plant: Plant | str | Path,
    data: Record | MeasuredResponse | Sequence[Record | MeasuredResponse],
    free: Sequence[str],
    *,
    start: Mapping[str, float] | None = None,
    delay: int | str = "scan",
    mesh: bool = True,
    engine: str = "auto",
    time_limit: float = float("inf"),
    progress: Callable[[str, float], None] | None = None,
) -> Identified:
    """Return parameters of a plant file that fit measurements best, with standard deviations.

    Parameters
    ----------
    plant : Plant, str or Path
        The plant; its values are where the search begins.
    data : Record, MeasuredResponse or sequence of them
        What was measured. Signals are named like the plant's; records begin at rest. Dry friction needs records, of two
        amplitudes at least.
    free : sequence of str
        Dotted keys: "material.steel.youngs_modulus", "joint.1.hub_inertia", "friction.dry.coulomb", ...
    start : mapping, optional
        Other values to begin with.
    delay : int or "scan"
        Delay of the inputs in samples; "scan" finds it.
    mesh : bool
        Whether to find out how far the parameters depend on the mesh of the model, and to refine it where they do by
        more than 0.1 % and half their deviation; the result says so.
    engine : str
        Model of the records: "linear" (about rest, with dry friction), "full" (the nonlinear one: slower), or "auto":
        full where joints have play, a stiffening spring or a gear that loses power by direction, and where the linear
        one was fitted and the full one is away from it by much of what it leaves over; the result says so.
    time_limit : float
        Time after which the search ends where it is [s]; a round that has begun, and the deviations, still take theirs.
        The result then says "not converged".
    progress : callable, optional
        Called with what is running and the fraction done.

    Warns
    -----
    DataWarning
        For records on which linear and full model differ by more than is left unexplained, for parameters that the
        data cannot separate or hardly determine, misfits that are not noise, modes that are not excited, outputs that
        the plant does not have, a mesh that is too coarse.

    Examples
    --------
    >>> arm = fx.load_plant("tokhi_azad_1994", damping={"kind": "modal", "ratio": 0.01}, payload={"inertia": 1e-6})
    >>> w = np.linspace(5.0, 450.0, 120)
    >>> data = fx.identify.measured_response(
    ...     w, arm.linearise().transfer(1j * w)[:1], ["joint1_torque [N m]"], ["joint1_angle [rad]"], relative=0.01)
    >>> key = "joint.1.hub_inertia"
    >>> found = fx.identify.parameters(arm, data, [key], start={key: 1e-3}, mesh=False)
    >>> print(f"{found.values[key]:.4e}")
    5.8600e-04
    """
    whole = delay == "scan" or (isinstance(delay, int) and not isinstance(delay, bool) and delay >= 0)
    require(whole, f'delay = {delay!r} must be a whole number of samples or "scan"')
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    require(real("time_limit", time_limit, "s") > 0.0, f"time_limit = {time_limit} s must be positive")
    found, told = problem(as_plant(plant), data, free, dict(start) if start else None)
    found = with_engine(found, engine, told)
    found.deadline = time.monotonic() + time_limit
    for r in found.records:
        told += r.warnings()
    told += feedback.told(found.records, "parameters and their deviations are", feedback.FITTED)
    with one_thread():  # thousands of small matrices
        return _searched(found, told, delay, mesh, engine, progress or (lambda what, part: None))


def _searched(
    given: Problem, told: list[str], delay: int | str, mesh: bool, engine: str, say: Callable[[str, float], None]
) -> Identified:
    """Return the parameters that fit best, on a mesh that is fine enough, with their deviations."""
    before = list(told)
    found, x, at, left = _fitted(given, told, delay, engine, say)
    how_far = trust(found, x, at, mesh, left)
    say("deviations", 1.0)
    times = meshes.refinement(found, how_far)
    if times > 1 and how_far.explained.wrong and not found.full and time.monotonic() < found.deadline:
        # what the mesh leaves may have led the search astray: it begins again
        finer = refined(given, min(times, AGAIN))
        if finer is not None:
            told[:] = [*before, meshes.words(found, finer, how_far) + "; the search began again there"]
            found, x, at, left = _fitted(finer, told, delay, engine, say)
            how_far = trust(found, x, at, mesh, left)
    found, x, how_far = meshes.on_finer_meshes(found, x, at, how_far, told, say)
    return _told(found, x, at, how_far, told)


def _fitted(
    found: Problem, told: list[str], delay: int | str, engine: str, say: Callable[[str, float], None]
) -> tuple[Problem, FloatArray, Setting, Explained]:
    """Return problem, parameters and setting that fit best, and what they explain, from a first guess on."""
    sampled_data = bool(found.records) or any(r.dt > 0.0 for r in found.responses)
    wanted = None if delay == "scan" and sampled_data else 0 if delay == "scan" else int(delay)
    x, guessed = first_guess(found, np.zeros(len(found.keys)), say)
    if _rings(found, x):
        x, guessed = damped.guessed(found, np.zeros(x.size), wanted, say), True
    begin = x
    items: list[Record | MeasuredResponse] = [*found.records, *found.responses]
    # sensors of the full model read before the input jumps
    feeds = not found.full and any(found.model(x, item).has_feed for item in items if item.dt > 0.0)
    lengths = horizons(found, guessed)
    # the beginning of a record tells no delay from play
    x, at = scanned(found, x, wanted, feeds, 0 if found.full else lengths[0], say)
    for number, length in enumerate(lengths[1:] or [0]):
        x, _ = fitted(found, x, at, length, 10, say, f"part {number + 1} of {len(lengths)}")
    x, cost = weighted(found, x, at, say)
    for _ in range(DELAYS):
        y, other = neighbours(found, x, at, cost, wanted, feeds, say)
        if other == at:
            break
        x, at = y, other
        x, cost = weighted(found, x, at, say)
    z = other_curves(found, x, at, cost, say)
    if z is not x:
        x, _ = weighted(found, z, at, say)
    while (shorter := shorter_steps(found, x, at)) is not found:
        found = shorter
        x, _ = weighted(found, x, at, say, what=f"{found.substeps} steps in a sample")
    found, x = found.in_logarithms(x)
    say("deviations", 0.0)
    left = explained(found, x, at)
    far = left.far or (bool(left.wrong) and may_turn(found, x, at))
    if engine == "auto" and far and time.monotonic() < found.deadline:
        found, x, at, left = on_full_model(found, x, at, left, begin, wanted is None, told, say)
    return found, x, at, left


def _rings(found: Problem, x: FloatArray) -> bool:
    """Whether records are of an arm without dry friction: what it swings does not end with them."""
    return bool(found.records) and not found.responses and not any(len(found.model(x, r).laws) for r in found.records)


def _told(found: Problem, x: FloatArray, at: Setting, how_far: Trust, told: list[str]) -> Identified:
    values = found.start * np.exp(x)
    sigma = values * how_far.sigma
    told = [*told, *unexcited(found, x), *how_far.explained.parted, *_cautions(found, values, sigma, how_far)]
    fits: dict[tuple[str, str], float] = {}
    left: dict[tuple[str, str], FloatArray] = {}
    for k, data in enumerate(found.records):
        e = found.misfit(x, data, at)
        name = str(data.provenance.get("file", f"record {k + 1}"))
        for i, signal in enumerate(data.outputs):
            spread = np.linalg.norm(data.y[:, i] - data.y[:, i].mean())
            fits[name, signal.name] = float(100.0 * (1.0 - np.linalg.norm(e[:, i]) / spread))
            left[name, signal.name] = e[:, i]
    quality.tell(told)
    items: list[Record | MeasuredResponse] = [*found.records, *found.responses]
    files = [str(d.provenance["file"]) for d in items if d.provenance.get("file")]
    today = datetime.date.today().isoformat()
    keys = found.keys
    return Identified(
        found.told_at(x),
        dict(zip(keys, values.tolist(), strict=True)),
        dict(zip(keys, found.start.tolist(), strict=True)),
        dict(zip(keys, sigma.tolist(), strict=True)),
        how_far.correlation,
        at.delay,
        at.late,
        how_far.chi2,
        fits,
        how_far.whiteness,
        how_far.condition,
        tuple(told),
        left,
        dict(zip(keys, (values * how_far.formal).tolist(), strict=True)),
        dict(zip(keys, (values * how_far.mesh).tolist(), strict=True)),
        found.substeps if found.full else 0,
        how_far.explained.times,
        how_far.explained.worst,
        found.unfinished,
        {**found.plant.identity, "identified": f"{', '.join(dict.fromkeys(files)) or 'measured data'}, {today}"},
    )


def _cautions(found: Problem, values: FloatArray, sigma: FloatArray, how_far: Trust) -> list[str]:
    said = [f"not converged: {found.unfinished}; the values and their deviations are those of that point"] * bool(
        found.unfinished
    )
    said += [*how_far.explained.words(), *how_far.held]
    keys = found.keys
    for i in range(len(keys)):
        for j in range(i):
            c = how_far.correlation[i, j]
            if abs(c) > CLOSE:
                said.append(
                    f"{keys[j]} and {keys[i]} are correlated by {c:.3f}: the data hardly give more than one of them"
                )
    if how_far.condition > ILL:
        said.append(
            f"the parameters are not identifiable together (condition {how_far.condition:.1e}, above "
            f"{ILL:.0e}): keep one of "
            "them as it is, or measure something else"
        )
    for key, value, s in zip(keys, values, sigma, strict=True):
        if s > WIDE * value:
            part = f"{s / value:.0%} of it" if np.isfinite(s) else "without bound: nothing measured depends on it"
            remedy = "; slow motion through zero tells it" if key.endswith((".static", ".stribeck_rate")) else ""
            said.append(f"{key} = {value:.4g} is hardly determined: its standard deviation is {part}{remedy}")
    for key, shift, value, s in zip(keys, how_far.mesh, values, sigma, strict=True):
        if abs(shift) > 1e-3 and abs(shift) * value > 0.5 * s:
            said.append(f"the mesh is coarse for {key}: with twice as many elements it would be {shift:+.2%} off")
    coloured = [f"{out} ({part:.0%} of the lags)" for (_, out), part in how_far.whiteness.items() if part > COLOURED]
    if coloured:
        said.append(
            f"the misfit of {', '.join(dict.fromkeys(coloured))} is not white: its noise is coloured, or something is "
            "not in the model; the deviations are made larger accordingly"
        )
    return said
