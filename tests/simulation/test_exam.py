"""Default runs on which nothing was fitted: right to 2 % or said, covered by what they claim, no claim silent."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from accuracy_unseen import MORE

from flexctl.errors import AccuracyWarning
from flexctl.simulation.accuracy import SAFETY
from flexctl.simulation.claims import claims, poor

SURE, WORST = 2e-4, 0.02
"""Parts of the range: to which references agree, and by which nothing may be off without a word."""
QUICK = ("fd, law 2 ms", "fd, multisine, alpha", "planar, law 2 ms")
SLOW = (
    "fd, jump, payload", "fd, jumps, alpha", "fd, continuous", "fd, logged", "planar, sines", "planar, logged",
    "planar, led", "planar, led and pushed", "planar, law 1 ms", "planar, law 5 ms", "planar, continuous",
    "planar, servo", "planar, undamped", "bristles, motors", "play",
)


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_a_default_run_is_right_or_says_that_it_is_not(name: str) -> None:
    case = MORE[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = case.run()
    said = " ".join(str(w.message) for w in caught if issubclass(w.category, AccuracyWarning))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = case.run(**case.exact)
    near = np.clip(np.searchsorted(exact.t, run.t - 1e-9), 0, exact.t.size - 1)
    both = np.abs(exact.t[near] - run.t) < 1e-8
    found = claims((*run.outputs, *run.inputs), np.hstack([run.y, run.u]), run.error)
    must, covered = poor(found, 1e-2, SAFETY), []
    for one in found:
        output = one.signal.name
        error, extent = np.abs(run[output][both] - exact[output][near[both]]).max(), np.ptp(exact[output])
        if output not in said:
            assert one not in must, output
            assert error <= WORST * extent, output
        covered.append(error <= one.error + SURE * extent)
    # what errors of the past do to a reading may be more than they did then: one reading may be a little further off
    assert len(covered) - sum(covered) <= 0.05 * len(covered) + 1
