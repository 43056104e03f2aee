"""A part that entries call by its name in machine code: compiled once, and found by a process that compiles nothing."""

from __future__ import annotations

import os
import subprocess
import sys

from flexctl.models.assumed_modes.kernel import functions, hydraulic, sweep

CODE = """
import numpy as np
from numba import int64, types
from flexctl.kernels import jit
from flexctl.kernels.jit import entry, kernel
from flexctl.kernels.named import named
from flexctl.kernels.tables import ENTRY, FAST, INT, MAT, PART, VEC
jit.announce = print

@kernel(**FAST)
def add(a, b, c, d, e, f, g, h):
    g[0] += a[0] + b[0] + c[0] + d[0] + e[0] + f[0] + h[0, 0]

@entry(types.void(VEC, VEC, VEC, VEC, VEC, INT, VEC, MAT), **PART)
def add_part(a, b, c, d, e, f, g, h):
    add(a, b, c, d, e, f, g, h)

added = named(add_part, add)

@entry(types.void(VEC, INT, VEC, MAT), needs=(add_part,), **ENTRY)
def twice(a, f, g, h):
    added(a, a, a, a, a, f, g, h)
    added(a, a, a, a, a, f, g, h)

g = np.zeros(1)
twice(np.ones(1), np.ones(1, int), g, np.ones((1, 1)))
print(g[0])
"""


def test_it_is_called_and_found_again(tmp_path) -> None:
    (tmp_path / "adds.py").write_text(CODE)
    told = [
        subprocess.run(
            [sys.executable, "adds.py"], check=True, capture_output=True, text=True, cwd=tmp_path,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "FLEXCTL_COMPILERS": "1"},
        ).stdout.splitlines()
        for _ in range(2)
    ]
    assert told[0][-1] == "14.0"
    assert len(told[0]) == 2  # said once, and the number
    assert told[1] == ["14.0"]  # nothing is compiled


def test_arms_of_assumed_modes_have_one_balance() -> None:
    """Residual and readings call it; neither makes it again."""
    for entry in (functions.residual, functions.output, hydraulic.hydraulic_residual, hydraulic.hydraulic_output):
        assert entry.needs == (sweep.forces_part,)
