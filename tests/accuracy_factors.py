"""Measure the fitted numbers of the error estimate again: `tests/accuracy_factors.py [KEY=NUMBER ..] [NAME ..]`.

Each default run of `accuracy_unseen` and of the cases that tests know is compared with one in small steps of another
method. What the estimate says before it is raised, over the error that is there, tells which factor would have covered
95 % of the pairs of run and output, and all of them:

    SAFETY of sampled loops, VARIED of runs in steps of several lengths, CHANGED of runs that were taken twice, SURER of
    runs with a pilot (`simulation/accuracy.py`); FIRST_ORDER of second looks (`simulation/second_look.py`);
    REDUCED and HALF of commands and led torques (`simulation/given.py`)

A factor is too small where it covers less than 95 %, and too large where a third of it would cover all. With a number
of `kernels/estimate.py` set to another one, as in

    python tests/accuracy_factors.py LOOPED=0.1 "planar, law 2 ms" K

the steps that are taken and the largest error show what it is worth: LOOPED, AIM, PASSING, MATTERS, PART, LEAST, SOON.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from accuracy_cases import CASES
from accuracy_unseen import MORE, More

import flexctl as fx
from flexctl.kernels import estimate
from flexctl.simulation import accuracy, given, second_look
from flexctl.simulation.claims import DISPLACEMENTS

SURE = 2e-4
"""Part of the range to which references agree."""
KNOWN = {"A": 2e-5, "B": 2e-5, "C": 2e-5, "D": 2e-5, "K": 2.5e-5}
"""Steps of references [s] of the cases of `accuracy_cases` that take seconds."""


class Watched:
    """The accuracy of the last run, whose factors are known."""

    last: accuracy.Accuracy | None = None

    def __enter__(self) -> Watched:
        self.original = accuracy.Accuracy.error
        watched = self

        def error(self: accuracy.Accuracy, *arguments: Any) -> dict[str, float]:
            watched.last = self
            return watched.original(self, *arguments)

        accuracy.Accuracy.error = error  # type: ignore[method-assign]
        return self

    def __exit__(self, *what: object) -> None:
        accuracy.Accuracy.error = self.original  # type: ignore[method-assign]


def kind_of(found: accuracy.Accuracy) -> str:
    """Return which factor raised the estimate of a run."""
    if found.looked:
        return "FIRST_ORDER"
    if found.second is not None:
        return "SURER" if found.piloted else "CHANGED"
    if np.isfinite(found.memory):
        return "SAFETY"
    return "VARIED" if found._varied else "none"


def off(run: fx.Response, exact: fx.Response, name: str) -> float:
    """Return the largest difference at the times that both runs have."""
    near = np.clip(np.searchsorted(exact.t, run.t - 1e-9), 0, exact.t.size - 1)
    both = np.abs(exact.t[near] - run.t) < 1e-8
    return float(np.abs(run[name][both] - exact[name][near[both]]).max())


def told(name: str, run: fx.Response, exact: fx.Response) -> None:
    """Print the work of a run and its largest error of a displacement."""
    moved = [s.name for s in run.outputs if s.unit in DISPLACEMENTS and np.ptp(exact[s.name]) > 0.0]
    parts = {output: off(run, exact, output) / float(np.ptp(exact[output])) for output in moved}
    worst = max(parts, key=lambda output: parts[output])
    print(f"{name}: {run.provenance.get('steps', 0)} steps, {worst} {parts[worst]:.2%} off", flush=True)


def needed(label: str, case: More) -> Iterable[tuple[str, str, float]]:
    """Yield the factor at work, the signal, and what would have covered its error, of what is off by what is known."""
    with warnings.catch_warnings(), Watched() as watched:
        warnings.simplefilter("ignore")
        run = case.run()
        kept = watched.last
        exact = case.run(**case.exact)
    assert kept is not None
    told(label, run, exact)
    raised, kind = kept._safety, kind_of(kept)
    taken_twice = {"CHANGED": accuracy.CHANGED, "SURER": accuracy.SURER, "FIRST_ORDER": second_look.FIRST_ORDER}
    factor = taken_twice.get(kind, raised)
    commands = {signal.name for signal in run.inputs}
    for name, claimed in run.error.items():
        extent, error = float(np.ptp(exact[name])), off(run, exact, name)
        if np.isnan(claimed) or error <= SURE * extent or extent == 0.0 or claimed == 0.0:
            continue
        if name in commands and not kept.looked:
            yield ("REDUCED, HALF", name, given.REDUCED * error / claimed)
        else:
            yield (kind, name, factor * error / claimed)


def main(only: list[str]) -> None:
    """Print the factors."""
    for pair in [word for word in only if "=" in word]:
        key, number = pair.split("=")
        setattr(estimate, key, float(number))  # before anything is compiled
    only = [word for word in only if "=" not in word]
    found: dict[str, list[tuple[float, str]]] = defaultdict(list)
    cases = dict(MORE)
    for name, step in KNOWN.items():
        cases[name] = More.of(CASES[name], {"step": step, "method": "sdirk"})
    for name, case in cases.items():
        if only and name not in only:
            continue
        for kind, output, factor in needed(name, case):
            found[kind].append((factor, f"{name}: {output}"))
    used = {"SAFETY": accuracy.SAFETY, "VARIED": accuracy.VARIED, "CHANGED": accuracy.CHANGED,
            "SURER": accuracy.SURER, "FIRST_ORDER": second_look.FIRST_ORDER, "REDUCED, HALF": given.REDUCED,
            "none": 1.0}
    for kind, rows in found.items():
        factors = np.array([factor for factor, _ in rows])
        print(f"{kind:14s} is {used[kind]:.3g}: {factors.size} pairs, median {np.median(factors):.2g}, "
              f"95 % need {np.quantile(factors, 0.95):.2g}, all {factors.max():.2g} ({max(rows)[1]})")


if __name__ == "__main__":
    main(sys.argv[1:])
