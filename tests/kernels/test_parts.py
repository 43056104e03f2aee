"""What is compiled by itself and called by its address: it is the same run, and another process finds it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import flexctl as fx
from flexctl.kernels import around, general, jit, shared
from flexctl.models.ancf.kernel import operations as ancf
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
LOOPS = {
    "segments": segments.LOOPS, "planar": planar.LOOPS, "spatial": spatial.LOOPS[True],
    "spatial linearised": spatial.LOOPS[False], "ancf": ancf.LOOPS, "general": general.LOOPS[False],
    "general with closures": general.LOOPS[True],
}


def test_another_process_finds_the_parts_by_their_home() -> None:
    """A factory makes them: its own module would not."""
    parts = [part for loops in LOOPS.values() for found in loops.parts.values() for part in found]
    parts += [part for found in around.PARTS.values() for part in found]
    where = [[part.home, part.py_func.__qualname__, part._index] for part in parts]
    code = [sys.executable, "-c", FIND, json.dumps(where)]
    told = subprocess.run(code, check=True, capture_output=True, text=True, env=os.environ).stdout
    assert told.splitlines() == [str(part.signature) for part in parts]
    assert all(jit.made[home, name][index] is part for (home, name, index), part in zip(where, parts, strict=True))


@pytest.mark.parametrize("loops", LOOPS.values(), ids=LOOPS)
def test_all_formulations_have_the_same_loops(loops) -> None:
    """They are compiled once for all of them."""
    assert loops
    assert all(loop is shared.SHARED[key] for key, loop in loops.items())


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


MIXED = """
import flexctl as fx
from flexctl.kernels import jit
arm = fx.load_plant("planar_2r_flexible")
gains = {"measures": ("joint1_angle", "joint1_rate"), "drives": ("joint1_torque",), "Dy": [[-50.0, -5.0]]}
for period in (1e-3, 0.0):
    fx.simulate(arm, fx.LinearLaw(period, **gains), duration=4e-3, step=1e-3)
for (module, name), made in jit.made.items():
    for entry in made:
        if entry._ready:
            print(module.removeprefix("flexctl."), name.rpartition(".")[2])
"""


def test_sampled_and_continuous_laws_have_one_loop() -> None:
    """A run that has both compiles it once; the continuous law brings what it does within a step, by itself."""
    told = subprocess.run([sys.executable, "-c", MIXED], check=True, capture_output=True, text=True, env=os.environ)
    home = "models.timoshenko_planar.kernel.operations"
    parts = [f"{home} {part}" for part in ("solve_part", "measure_part", "rest_part", "sense_part")]
    assert sorted(told.stdout.splitlines()) == sorted(["kernels.shared run", "kernels.parts feed_part", *parts])
