"""Iterative learning: the same move again and again, the command corrected by the error of the run before.

    move = {"chord1_angle": fx.quintic(0.0, 1.047, 1.25)}
    found = fx.learn(arm, law, move, models={"0 g": .., "20 g": ..}, cutoff=30.0)
    found.filter.rate                              by what the errors shrink at least; known before the first run
    fx.simulate(arm, found.law, found.references, duration=found.duration)

What is learnt is added to the law's commands, within its limits, through channels of its own (`flexctl.laws.added`).
The filter is made from linear models of everything that the arm may be (`flexctl.design.learning_filter`), and nothing
runs if a part of the error could grow on any of them. A nonlinear arm is given by its linear plants in some poses,
each with the law that acts there; then the certificate speaks of these, and the runs decide: when two in a row are
worse than the best, it stops, and the best is returned.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..abilities import HasModel
from ..design.learning_filter import LearningFilter, check_stable, learning_filter, learning_loop
from ..errors import Caution, DefinitionError, NotAvailable, caution, require
from ..laws.added import Added, added_channel, with_added
from ..laws.blended import Blended
from ..laws.controller import layers
from ..laws.fingerprint import Fingerprint, fingerprint
from ..laws.given import as_law
from ..laws.linear_part import linear_law, linear_part
from ..machine.given import as_linear, as_simulated, opened
from ..model import FloatArray, index_of, names
from ..motion.later import Later, Samples, SamplesForLaw
from ..motion.moves import Motion
from ..simulation.response import Response
from ..simulation.simulate import simulate
from ..support import checks
from ..support.files import write_atomically
from ..support.kinds import LawGiven, SystemGiven
from ..support.tabular import Column, Tabular
from ..support.telling import telling
from .certify.runs import limits

AT_LIMIT = 0.9999
"""Part of a limit of the law from which on a command is at it."""

GROWING = 1.0 + 1e-9
"""Growth of a part of the error from which on nothing is run."""
PATIENCE = 2
"""Runs in a row that are worse than the best, after which to stop."""


@dataclass(frozen=True, eq=False)
class Learnt(Tabular):
    """A learnt correction and how the errors fell.

    Attributes
    ----------
    law : Controller
        The law with a channel for every command.
    references : dict
        Motion of every channel of that law in the best run: what `simulate` takes.
    duration : float
        Length of a run [s].
    outputs : tuple of str
        Outputs that were to follow their references.
    errors : tuple of mapping
        Largest error of every output in every run, the one before any learning first.
    sizes : tuple of float
        Root mean square of the errors of every run, each output in its `scale`.
    best : int
        Number of the run that `references` belong to.
    stopped : str
        Why it ended.
    filter : LearningFilter
        The filter that turns errors into commands, with its certificate.
    run : Response or None
        The best run; None when it was read from a file and not run again.
    values : ndarray
        The correction added in the best run, a row for every driven input, one number a sample.

    Examples
    --------
    >>> damped = {"damping.kind": "modal", "damping.ratio": 0.01}
    >>> arm = fx.load_plant("tokhi_azad_1994", overrides=damped)
    >>> law = fx.load_controller("tokhi_azad_robust").design(arm)
    >>> move = {"chord1_angle": fx.quintic(0.0, 0.1, 0.4)}
    >>> found = fx.learn(arm, law, move, models={"0 g": arm}, cutoff=20.0, runs=2, after=0.5, method="march")
    >>> found.errors[2]["chord1_angle"] < 0.2 * found.errors[0]["chord1_angle"]
    True
    """

    law: Any
    references: dict[str, Motion]
    duration: float
    outputs: tuple[str, ...]
    errors: tuple[Mapping[str, float], ...]
    sizes: tuple[float, ...]
    best: int
    stopped: str
    filter: LearningFilter
    run: Response | None
    values: FloatArray

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {self.errors[0][name]:.3g} -> {x:.3g}" for name, x in self.errors[self.best].items())
        return f"Learnt({told} in run {self.best} of {len(self.sizes) - 1}, {self.stopped})"

    def _table(self) -> list[Column]:
        units = {} if self.run is None else {s.name: s.unit for s in self.run.outputs}
        rows = [Column(name, [per[name] for per in self.errors], units.get(name, "")) for name in self.outputs]
        return [Column("run", list(range(len(self.sizes)))), *rows, Column("size", list(self.sizes))]

    def _about(self) -> Mapping[str, Any]:
        return {
            "best": self.best, "stopped": self.stopped, "duration": self.duration, "rate": self.filter.rate,
            "rates": self.filter.rates,
        }


def learn(
    system: SystemGiven,
    law: LawGiven,
    reference: Motion | Mapping[str, Motion],
    *,
    models: Mapping[Any, Any],
    cutoff: float,
    runs: int = 5,
    gain: float = 1.0,
    regularisation: float = 0.0,
    outputs: Sequence[str] | None = None,
    before: float = 0.3,
    after: float = 1.2,
    by: str | None = None,
    made_from: Sequence[str] = (),
    enough: float = 0.0,
    path: str | Path | None = None,
    resume: bool = True,
    progress: bool | Callable[[int, int, float], None] | None = None,
    **options: Any,
) -> Learnt:
    """Run the same move until its error is small.

    Parameters
    ----------
    system : Plant or model
        What is run, as for `simulate`.
    law : Controller
        A sampled law that is stable on every model.
    reference : motion or mapping
        What the law's channels follow, and further outputs that are to follow something.
    models : mapping
        Label -> linear plant (or what becomes one), or a pair of one and the law that acts there: a scheduled law
        frozen at that pose. The filter is made from all of them and certified on all.
    cutoff : float
        Frequency above which nothing is learnt [Hz].
    runs : int
        Number of corrections; the first run has none.
    gain : float
        Fraction of the correction that is applied.
    regularisation : float
        Added to the square of the response, as a fraction of its largest value; above 0 where a response is nearly zero
        somewhere, as that of several channels or of poses that differ.
    outputs : sequence of str, optional
        What is to follow; by default every output that has a reference and is a channel of the law.
    before, after : float
        Rest before and after the move [s], in which the command may act too.
    by : str, optional
        Output whose reference schedules the filter, or "time" [s]; `models` is then value -> {label: model}, and a
        filter is made for every value.
    made_from : sequence of str
        Labels of the models that the filter is made from, if not from all; it is certified on all.
    enough : float
        Largest error at which to stop, in the unit of the outputs.
    path : path, optional
        File (.json) that keeps what was learnt after every run; learning resumes from there.
    resume : bool
        Whether to resume from it; otherwise it is overwritten.
    progress : bool or callable, optional
        Progress is reported on the error stream after a second; False: never. A callable is called with runs done,
        of all, and the largest error so far.
    **options
        Further arguments of `simulate`: method, rtol, inputs, initial.

    Raises
    ------
    DefinitionError
        When a part of the error may grow on one of the models.

    Examples
    --------
    >>> damped = {"damping.kind": "modal", "damping.ratio": 0.01}
    >>> arm = fx.load_plant("tokhi_azad_1994", overrides=damped)
    >>> law = fx.load_controller("tokhi_azad_robust").design(arm)
    >>> models = {f"{1e3 * m:g} g": arm.with_(payload={"mass": m}) for m in (0.0, 0.02)}
    >>> move = {"chord1_angle": fx.quintic(0.0, 0.1, 0.4)}
    >>> found = fx.learn(arm, law, move, models=models, cutoff=20.0, runs=1, after=0.5, method="march")
    >>> found.filter.rate < 0.8
    True
    """
    system = opened(system)
    task = _task(system, law, reference, models, by, outputs, before, after)
    if not (isinstance(runs, int) and not isinstance(runs, bool) and runs >= 0):
        raise DefinitionError(f"runs = {runs!r} must be a whole number, 0 or more")
    count = round(task.duration / task.dt) + 1
    made = learning_filter(
        task.poses, task.weights, task.channels, task.outputs, cutoff=cutoff, gain=gain, regularisation=regularisation,
        scales=task.scales, made_from=made_from,
    )
    _certified(made)
    about = {
        "outputs": list(task.outputs), "samples": count, "sample_time_s": task.dt, "cutoff_hz": cutoff, "gain": gain,
        "regularisation": regularisation, "models": list(made.contraction), "before_s": before,
        "made_from": list(made_from),
        "reference": [[float(f"{x:.9g}") for x in row[:: max(1, count // 20)]] for row in task.wanted.T],
    }
    state = _State(None if path is None else Path(path), about, task.word, np.zeros((len(task.law.drives), count)))
    if resume:
        state.read()
    begun = len(state.sizes)
    best: Response | None = None
    held: list[str] = []
    with telling(progress, f"learning, {runs + 1} runs", _told) as report:
        while len(state.sizes) <= runs and not state.stopped(enough):
            here = task.references(state.next)
            run = simulate(system, task.law, here, duration=task.duration, **options)
            error = task.errors(run)
            found = state.add(error, task.outputs, task.scales, made)
            best = run if found else best
            held = _at_limits(run, task.law)
            report(len(state.sizes), runs + 1, min(max(per.values()) for per in state.errors))
    why = state.stopped(enough) or f"{len(state.sizes) - 1} corrections made"
    if held and len(state.sizes) > 1 and state.sizes[-1] > made.rate * state.sizes[-2]:
        caution(
            f"the last run of learning was at a limit: {', '.join(held)}, and its error shrank by less than certified: "
            "beyond a limit nothing that is learnt acts; give the move more time",
            Caution,
        )
    if len(state.sizes) == begun:
        why += ", nothing run"
    return Learnt(
        task.law, task.references(state.values), task.duration, task.outputs, tuple(state.errors), tuple(state.sizes),
        state.best, why, made, best, state.values,
    )


def _told(done: int, of: int, error: float) -> str:
    return f"{done} done, largest error {error:.3g}"


def _at_limits(run: Response, law: Any) -> list[str]:
    """Return the driven inputs that are at a limit of the law in a run, and for how much of it."""
    parts = {
        name: float(np.mean(np.abs(run[name]) >= AT_LIMIT * most))
        for name, most in limits(law).items() if np.isfinite(most) and name in names(run.inputs)
    }
    return [f"{name} in {part:.2g} of it" for name, part in parts.items() if part > 0.0]


@dataclass(frozen=True, eq=False)
class _Task:
    """The task of learning: the law with its channels, the loops, the motions, the wanted outputs at the samples."""

    law: Any
    word: Fingerprint | None
    motions: dict[str, Motion]
    poses: list[dict[str, Any]]
    weights: FloatArray
    channels: tuple[str, ...]
    outputs: tuple[str, ...]
    scales: tuple[float, ...]
    wanted: FloatArray
    duration: float

    @property
    def dt(self) -> float:
        """Control period [s]."""
        return float(self.law.sample_time)

    def references(self, v: FloatArray) -> dict[str, Motion]:
        """Return the motion of every channel with these sequences added."""
        found = dict(self.motions)
        for drive, row in zip(self.law.drives, v, strict=True):
            found[added_channel(drive)] = (
                Samples(self.dt, row) if self.word is None else SamplesForLaw(self.dt, row, self.word)
            )
        return found

    def errors(self, run: Response) -> FloatArray:
        """Return what is missing of the wanted outputs at the samples, a row each."""
        t = self.dt * np.arange(len(self.wanted))
        return np.array([self.wanted[:, i] - np.interp(t, run.t, run[name]) for i, name in enumerate(self.outputs)])


def _task(
    system: Any, law: Any, reference: Any, models: Mapping[Any, Any], by: str | None, outputs: Sequence[str] | None,
    before: float, after: float,
) -> _Task:
    own = as_law(law)
    require(own is not None and own.sample_time > 0, "learning needs a sampled law; this one is continuous or missing")
    plant = as_simulated(system)
    motions = dict(reference) if isinstance(reference, Mapping) else dict.fromkeys(own.follows, reference)
    chosen = tuple(outputs) if outputs is not None else tuple(
        name for name in own.follows if name in motions and name in names(plant.outputs)
    )
    require(bool(chosen), f"nothing to follow: none of {sorted(motions)} is an output and a channel of the law")
    for name in chosen:
        index_of("output", name, plant.outputs)
        require(name in motions, f"{name} is to follow something, but has no reference; given: {sorted(motions)}")
    for name, value in (("before", before), ("after", after)):
        require(checks.number(name, value, "s") >= 0, f"{name} = {value} s must not be negative")
    if before:
        motions = {name: Later(motion, before) for name, motion in motions.items()}
    duration = max(float(motion.duration) for motion in motions.values()) + after
    require(bool(np.isfinite(duration)), "a motion never ends: there is no run to repeat")
    added = with_added(own, limits(own))
    dt = float(added.sample_time)
    duration = dt * np.ceil(duration / dt - 1e-9)
    t = dt * np.arange(round(duration / dt) + 1)
    wanted = np.column_stack([np.asarray(motions[name](t)[0]) for name in chosen])
    units = {plant.outputs[index_of("output", name, plant.outputs)].unit for name in chosen}
    spans = np.ptp(wanted, axis=0)
    scales = np.ones(len(chosen)) if len(units) == 1 else np.where(spans > 0, spans, spans.max(initial=0.0) or 1.0)
    apart = any(isinstance(layer, Added) for layer in layers(added))
    channels = tuple(own.drives) if apart else tuple(added_channel(drive) for drive in own.drives)
    poses = [_loops(group, own, apart, told) for told, group in _grouped(models, by).items()]
    weights = _weights(models, by, motions, t, before)
    return _Task(
        added, _word(added), motions, poses, weights, channels, chosen, tuple(scales.tolist()), wanted, float(duration)
    )


def _word(law: Any) -> Fingerprint | None:
    """Return the fingerprint of a law, None of one that is known by its step alone."""
    try:
        return fingerprint(law)
    except NotAvailable:
        return None


def _grouped(models: Mapping[Any, Any], by: str | None) -> dict[str, Mapping[str, Any]]:
    """Return the models of every pose by what to call it."""
    require(isinstance(models, Mapping) and bool(models), "models: give at least one, as {label: plant}")
    if by is None:
        return {"": models}
    for value, group in models.items():
        nested = isinstance(value, int | float | np.number) and isinstance(group, Mapping) and bool(group)
        got = f"{value!r}: a {type(group).__name__}"
        require(nested, f"with by = {by!r} models is {{value: {{label: model}}}}; got {got}")
    return {f"{by} = {value:.4g}, ": group for value, group in sorted(models.items())}


def _weights(
    models: Mapping[Any, Any], by: str | None, motions: Mapping[str, Motion], t: FloatArray, before: float
) -> FloatArray:
    """Return the part of every pose at the samples: hat functions of what schedules."""
    if by is None:
        return np.ones((1, t.size))
    require(by == "time" or by in motions, f'by = "{by}" has no reference; give one of {[*motions, "time"]}')
    value = t - before if by == "time" else np.asarray(motions[by](t)[0])
    points = np.array(sorted(models), float)
    return np.array([np.interp(value, points, row) for row in np.eye(points.size)])


def _loops(models: Mapping[str, Any], law: Any, apart: bool, told: str) -> dict[str, Any]:
    """Return the closed loop of every model of a pose."""
    loops = {}
    for name, given in models.items():
        plant, here = given if isinstance(given, tuple) else (given, law)
        try:
            acting = _linear(here if apart else with_added(as_law(here)), plant)
        except NotAvailable as error:
            raise NotAvailable(f"model {told}{name}: {error}") from error
        loop = learning_loop(as_linear(plant), acting, apart)
        same = abs(loop.dt - law.sample_time) < 1e-9 * law.sample_time
        rates = f"its law acts every {loop.dt:g} s, the law that learns every {law.sample_time:g} s"
        require(same, f"model {told}{name}: {rates}")
        check_stable(loop, f"{told}{name}")
        loops[f"{told}{name}"] = loop
    return loops


def _linear(law: Any, plant: Any) -> Any:
    """Return the linear part of a law on a plant at rest; one that is scheduled must be given as what it is there."""
    for layer in layers(law):
        if isinstance(layer, Blended):
            raise NotAvailable(
                f"the law is scheduled by {layer.by}: give the plant with the law that acts there, "
                "(plant, law.frozen(value))"
            )
    if isinstance(plant, HasModel):
        return linear_law(law, plant.model)
    return linear_part(law, lambda name: 0.0)  # a linear plant counts from its operating point


def _certified(made: LearningFilter) -> None:
    """Raise unless no part of the error can grow."""
    if made.rate > GROWING:
        name, f = made.worst
        raise DefinitionError(
            f"learning is not certified to converge: the error on {name} may grow by {made.rate:.3g} a run at "
            f"{f:.3g} Hz; lower cutoff or gain, raise regularisation, make the filter from that "
            "model too, or schedule it (by)"
        )


@dataclass
class _State:
    """Runs that are done, in a file if there is one."""

    path: Path | None
    about: dict[str, Any]
    word: Fingerprint | None
    next: FloatArray
    errors: list[dict[str, float]] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    best: int = 0

    def __post_init__(self) -> None:
        self.values = self.next.copy()

    def stopped(self, enough: float) -> str:
        """Return why to stop, empty if there is no reason."""
        if not self.sizes:
            return ""
        if len(self.sizes) - 1 - self.best >= PATIENCE:
            return f"{PATIENCE} runs in a row worse than the best"
        if max(self.errors[self.best].values()) <= enough:
            return "small enough"
        return ""

    def add(self, error: FloatArray, outputs: Sequence[str], scales: Sequence[float], made: LearningFilter) -> bool:
        """Take a run and its errors; return whether it is the best."""
        size = float(np.sqrt(np.mean((error / np.array(scales)[:, None]) ** 2)))
        self.errors.append({name: float(np.abs(row).max()) for name, row in zip(outputs, error, strict=True)})
        self.sizes.append(size)
        found = size <= min(self.sizes)
        if found:
            self.best, self.values = len(self.sizes) - 1, self.next
        self.next = made.next(self.next, error)
        self.write()
        return found

    def write(self) -> None:
        """Keep everything in the file."""
        if self.path is None:
            return
        content = {
            "learning": self.about, "law": None if self.word is None else self.word.to_dict(), "errors": self.errors,
            "sizes": self.sizes, "best": self.best, "values": self.values.tolist(), "next": self.next.tolist(),
        }
        text = json.dumps(content)
        write_atomically(self.path, lambda stream: stream.write(text.encode()))

    def read(self) -> None:
        """Go on from the file, if there is one; one of another task is refused."""
        if self.path is None or not self.path.exists():
            return
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            about, law = dict(content["learning"]), content["law"]
            values, following = (np.array(content[key], float) for key in ("values", "next"))
            errors = [{str(k): float(x) for k, x in dict(per).items()} for per in content["errors"]]
            sizes, best = [float(x) for x in content["sizes"]], int(content["best"])
            word = None if law is None else Fingerprint.from_dict(dict(law))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DefinitionError(f"{self.path} is damaged or no file of learning: {error!r}; remove it") from error
        other = [key for key, x in json.loads(json.dumps(self.about)).items() if about.get(key) != x]
        different = "" if word is None or self.word is None else word.difference(self.word)
        fits = values.shape == following.shape == self.next.shape and len(errors) == len(sizes)
        remedy = "remove it, write another file, or say resume=False"
        require(not other, f"{self.path} belongs to another task: {', '.join(other)} differ; {remedy}")
        require(not different, f"{self.path} belongs to another law: {different}; {remedy}")
        require(fits, f"{self.path} has sequences of shape {values.shape}, the task {self.next.shape}; {remedy}")
        self.values, self.next, self.errors, self.sizes, self.best = values, following, errors, sizes, best
