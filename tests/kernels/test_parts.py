"""What is compiled by itself and called by its address: it is the same run, and another process finds it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import flexctl as fx
from flexctl.kernels import jit
from flexctl.models.finite_segment import kernel as segments
from flexctl.models.timoshenko_planar.kernel import operations as planar
from flexctl.models.timoshenko_spatial.kernel import operations as spatial
from flexctl.motion.moves import bang_bang

FIND = """
import json, sys
from importlib import import_module
from flexctl.kernels import jit
for module, name, index in json.loads(sys.argv[1]):
    import_module(module)
    print(jit.made[module, name][index].signature)
"""


@pytest.mark.parametrize("ops", [segments.OPERATIONS, planar.OPERATIONS, spatial.EXACT, spatial.LINEARISED])
def test_another_process_finds_the_parts_by_their_home(ops) -> None:
    """A factory makes them: its own module would not."""
    where = [[part.home, part.py_func.__qualname__, part._index] for part in ops.parts]
    code = [sys.executable, "-c", FIND, json.dumps(where)]
    told = subprocess.run(code, check=True, capture_output=True, text=True, env=os.environ).stdout
    assert told.splitlines() == [str(part.signature) for part in ops.parts]
    assert all(jit.made[home, name][index] is part for (home, name, index), part in zip(where, ops.parts, strict=True))


PUSHED = {"planar_2r_flexible": 5.0, "li_zhang_single_link": 1e-4}


def pushed(name: str) -> fx.Response:
    push = bang_bang(PUSHED[name], 0.01)
    return fx.simulate(fx.load_plant(name), inputs={"joint1_torque": push}, duration=0.02, step=1e-3)


def test_two_arms_of_other_formulations_run_by_turns() -> None:
    """Each state has the addresses of its own formulation."""
    first = {name: pushed(name).y for name in PUSHED}
    for name, y in first.items():
        assert np.abs(y).max() > 0.0
        np.testing.assert_array_equal(pushed(name).y, y)
