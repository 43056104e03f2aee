"""Integrators side by side: the same run with each, what it cost and how far it is off.

    table = compare_methods(plant, motions=circle, duration=2.0, steps=(1e-3, 5e-4))
    print(table)
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ConvergenceError, require
from ..kernels.schemes import SCHEMES, Scheme, trapezoidal
from ..machine.given import as_model, opened
from ..model import FloatArray
from ..support.kinds import SystemGiven
from .response import Response
from .simulate import simulate

FINER, TRUSTED = 16, 2.0
"""How much shorter the steps of the reference are; an error below so many of its own is no more than a bound."""


@dataclass(frozen=True)
class MethodRow:
    """One run.

    Attributes
    ----------
    method : str
        Name of the integrator.
    step : float
        Longest step [s].
    steps, iterations, factorisations : int
        Work done; 0 where the model's stepper does not count.
    error : float
        Largest difference to the exact run over the outputs and times compared; infinite where the run failed.
    seconds : float
        CPU time of the run.
    """

    method: str
    step: float
    steps: int
    iterations: int
    factorisations: int
    error: float
    seconds: float


@dataclass(frozen=True)
class MethodTable:
    """Rows of `compare_methods`; prints itself.

    Attributes
    ----------
    rows : tuple of MethodRow
        One for each method and step.
    outputs : tuple of str
        What the error is measured on.
    reference : float
        Estimated error of the run that counts as exact, in the unit of the outputs: no row is known better than that.
        Not small on an arm that nothing damps, after a jump; nan where it is not known.
    """

    rows: tuple[MethodRow, ...]
    outputs: tuple[str, ...]
    reference: float = float("nan")

    def __str__(self) -> str:
        heads = ("step", 9), ("steps", 8), ("it/step", 8), ("factors", 8), ("error", 9), ("time", 9)
        lines = [f"{'method':20s} " + " ".join(f"{head:>{width}s}" for head, width in heads)]
        for row in self.rows:
            per = row.iterations / row.steps if row.steps else float("nan")
            lines.append(
                f"{row.method:20s} {row.step * 1e3:6.3g} ms {row.steps:8d} {per:8.2f} {row.factorisations:8d} "
                f"{row.error:9.1e} {row.seconds:7.3f} s"
            )
        lines.append(f"error: largest difference of {', '.join(self.outputs)} to the finest run")
        known = np.isfinite(self.reference)
        lines.append(f"whose own error is about {self.reference:.1e}" if known else "whose own error is not known")
        doubtful = sum(not row.error > TRUSTED * self.reference for row in self.rows)
        if doubtful and known:
            lines.append(f"{doubtful} of {len(self.rows)} errors are no larger than that: they are bounds, no more")
        return "\n".join(lines)

    def __getitem__(self, key: tuple[str, float]) -> MethodRow:
        """Return the row of a method and a step."""
        for row in self.rows:
            if row.method == key[0] and abs(row.step - key[1]) <= 1e-9 * key[1]:
                return row
        raise KeyError(key)


def compare_methods(
    system: SystemGiven,
    *,
    duration: float,
    steps: Sequence[float],
    methods: Sequence[str] | Mapping[str, Scheme] | None = None,
    outputs: Sequence[str] = ("tip_x", "tip_y"),
    after: float = 0.0,
    exact: Response | None = None,
    **run: Any,
) -> MethodTable:
    """Compare integrators: accuracy and cost of each one at each step.

    Parameters
    ----------
    system : Plant or MechanicalModel
        What is simulated.
    duration : float
        Length of the runs [s].
    steps : sequence of float
        Steps [s].
    methods : sequence of str or mapping
        Names of `flexctl.kernels.schemes.SCHEMES`, or schemes by name; by default all that serve the model.
    outputs : sequence of str
        What the error is measured on; inputs and coordinates have names too.
    after : float
        Time from which it is measured [s].
    exact : Response, optional
        The run that counts as exact; by default the trapezoidal rule with a sixteenth of the shortest step. The table
        gives its estimated error.
    **run
        Further arguments of `simulate`: controller, reference, motions, inputs, initial.

    Examples
    --------
    >>> arm = fx.load_plant("planar_2r_flexible", model={"elements": 2})
    >>> moves = dict.fromkeys(("joint1", "joint2"), fx.Cycloid(0.0, np.pi / 3, 2.5))
    >>> table = fx.compare_methods(arm, duration=0.1, steps=[5e-3], methods=["trapezoidal"], motions=moves)
    >>> len(table.rows)
    1
    """
    system = opened(system)
    as_model(system)  # says at once what is wrong with it
    require(len(steps) > 0 and min(steps) > 0, f"steps = {list(steps)} s must be positive")
    if methods is None:
        methods = tuple(SCHEMES)
    schemes = methods if isinstance(methods, Mapping) else {name: SCHEMES[name]() for name in methods}
    if exact is None:
        fine = trapezoidal(tolerance=1e-11)
        exact = simulate(system, duration=duration, step=min(steps) / FINER, scheme=fine, **run)
    times, wanted = exact.t, np.column_stack([exact[name] for name in outputs])
    rows = []
    for name, scheme in schemes.items():
        for step in steps:
            rows.append(_row(name, scheme, step, (times, wanted), system, duration, outputs, after, run))
    own = [exact.error.get(name, np.nan) for name in outputs]
    return MethodTable(tuple(rows), tuple(outputs), float(np.max(own)) if own else float("nan"))


def _row(
    name: str, scheme: Scheme, step: float, exact: tuple[FloatArray, FloatArray], system: Any, duration: float,
    outputs: Sequence[str], after: float, run: Mapping[str, Any],
) -> MethodRow:
    begun = time.process_time()
    try:
        found = simulate(system, duration=duration, step=step, scheme=scheme, **run)
    except ConvergenceError:
        return MethodRow(name, step, 0, 0, 0, float("inf"), time.process_time() - begun)
    spent = time.process_time() - begun
    error = _difference(found, outputs, *exact, after)
    work = [int(found.provenance.get(key, 0)) for key in ("steps", "iterations", "factorisations")]
    return MethodRow(name, step, work[0], work[1], work[2], error, spent)


def _difference(run: Response, outputs: Sequence[str], times: FloatArray, wanted: FloatArray, after: float) -> float:
    """Return the largest difference at the times that both runs have."""
    near = np.clip(np.searchsorted(times, run.t - 1e-9), 0, times.size - 1)
    both = (np.abs(times[near] - run.t) < 1e-9) & (run.t >= after)
    ours = np.column_stack([run[name] for name in outputs])
    require(bool(both.any()), "the runs have no times in common; use steps that divide each other")
    return float(np.abs(ours[both] - wanted[near[both]]).max())
