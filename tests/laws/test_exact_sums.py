"""Laws round every product and sum by itself, whoever in a process has them compiled first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
from flexctl.kernels.jit import entry
from flexctl.kernels.law import law_step, linear_step
from flexctl.kernels.tables import FAST, LAW, MAT, VEC, Law
from flexctl.kernels.vectors import row_sum
from flexctl.laws.ordered_kernel import one_period, row
from numba import float64, int64, types

ENTRY = {key: value for key, value in FAST.items() if key not in ("no_cpython_wrapper", "no_cfunc_wrapper")}

@entry(types.void(LAW, VEC, VEC, MAT, VEC), **ENTRY)
def fused(law, y, r, memory, u):
    law_step(law, 0, y, r, memory, u)
    u[0] += row_sum(0.0, law.A, 0, y)

@entry(float64(MAT, int64, VEC), **ENTRY)
def summed(A, i, x):
    return row_sum(0.0, A, i, x)

if {first!r} == "fused":
    fused.load(); summed.load()
random = np.random.default_rng(5)
n = 7
A, B, C, D = (random.normal(size=shape) for shape in ((n, n), (n, n), (1, n), (1, n)))
none = np.zeros((n, 0))
law = Law(
    A, B, none, np.zeros((n, 1)), C, D, np.zeros((1, 0)), np.array([-1e9]), np.array([1e9]), np.zeros(n),
    np.zeros((1, n)), np.arange(n), np.zeros(1, np.int64), np.zeros(1, np.int64), 0, np.zeros((3, n)),
)
worst = 0
for _ in range(200):
    x, y = random.normal(size=n), random.normal(size=n)
    memory, u = np.zeros((1, n)), np.zeros(1)
    memory[0] = x
    one_period(law, y, np.zeros(0), memory, u)
    total = 0.0
    for a, b in ((C[0], x), (D[0], y)):
        for j in range(n):
            total += float(a[j]) * float(b[j])
    worst += total != u[0]
    plain = 0.0
    for j in range(n):
        plain += float(A[2, j]) * float(x[j])
    worst += plain != summed(A, 2, x)
print(worst)
"""


@pytest.mark.parametrize("first", ["fused", "itself"])
def test_a_law_is_not_fused_by_who_compiles_it_first(first: str, tmp_path: Path) -> None:
    """numba gives a function that says nothing of fused operations those of its first caller."""
    (tmp_path / "program.py").write_text(PROGRAM.replace("{first!r}", repr(first)), encoding="utf-8")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0"]
