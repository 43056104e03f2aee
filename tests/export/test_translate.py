"""Kernels in C: the numbers of the same function in Python, and what is refused."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from flexctl.export.fmu import package
from flexctl.export.translate.program import translated
from flexctl.export.translate.types import Untranslatable

needs_compiler = pytest.mark.skipif(package.find_compiler() is None, reason="no C compiler")
SOURCES = Path(package.__file__).parent / "csource"


class Pair(NamedTuple):
    one: Any
    other: Any


def in_c(folder: Path, function: Any, x: np.ndarray, whole: np.ndarray) -> Callable[[np.ndarray, np.ndarray], float]:
    """Return function(x, whole) -> float compiled from its C text."""
    _, entry, lines = translated(function, (x, whole))
    lines += [
        "double call(double *x, int64_t n, int64_t *w, int64_t m)", "{", "    static fx_context fx;",
        "    fx_f1 a = {x, n};", "    fx_i1 b = {w, m};", f"    return {entry.name}(&fx, a, b);", "}", "",
    ]
    (folder / "f.c").write_text("\n".join(lines))
    compiler = package.find_compiler()
    words = [compiler, "-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-ffp-contract=off"]
    subprocess.run([*words, "-fPIC", "-shared", f"-I{SOURCES}", "f.c", "-o", "f.so", "-lm"], cwd=folder, check=True)
    call = ctypes.CDLL(str(folder / "f.so")).call
    call.restype = ctypes.c_double
    reals, ints = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int64)

    def run(a: np.ndarray, b: np.ndarray) -> float:
        return float(call(a.ctypes.data_as(reals), ctypes.c_int64(a.size), b.ctypes.data_as(ints),
                          ctypes.c_int64(b.size)))

    return run


def indices(x, w):
    """Entries from the end, floor division, views, copies, fills."""
    n, total = x.size, 0.0
    for i in range(n - 1, -1, -1):
        total += (i + 1) * x[i - 2] * (w[i % w.size] // 3) + (-w[i % w.size]) % 4
    M = np.zeros((3, n))
    for i in range(3):
        for j in range(n):
            M[i, j] = (i + 1) * x[j]
    M[1, 1:] = 0.5
    M[0] = M[2]
    column, tail = M[:, 1], M[1:, 2:4]
    column[-1] += 2.0
    tail[:] = tail[1, 0]
    row = M[2, : n - 1].copy()
    row[0] = 100.0
    for i in range(3):
        for j in range(n):
            total += M[i, j] * (i + 2 * j)
    return total + row[0] + M[2, 0] + row.size + M.shape[1] + tail.shape[0]


def names(x, w):
    """Swaps, chains of assignment and comparison, types that grow, loop variables read later, groups."""
    a = b = x[0]
    b += 1.0
    a, b = b, a
    count, grown = 0, 0
    for i in range(5):
        if 0 < i <= 3 and i != 2:
            grown += 0.25 * i
            continue
        count += i
    x[0], x[1] = x[1], x[0]
    pair = Pair(a, (b, grown))
    first, (second, third) = pair.one, pair.other
    k = 0
    while True:
        k += 1
        if k > 6 or (x[k % x.size] > 2.0 and w[0] != 0):
            break
    best = max(x[0], x[1], 0.5) - min(w[0], 3) + abs(x[2]) + abs(w[1])
    low = x[0] if x[0] < x[1] else 7
    for side in (1.0, -1):
        low += side * x[3]
    return first + 2.0 * second + 4.0 * third + i + count + best + k + low + (1.0 if w[0] in (1, 5) else 0.0)


def complexes(x, w):
    """Complex numbers and arrays of them, powers, functions."""
    z = np.zeros(4, np.complex128)
    for i in range(4):
        z[i] = complex(x[i], -x[i + 1]) * 2j + i
    z[1:3] = 1.5 - 0.5j
    product = (z[0] * z[1].conjugate() - z[3]) / (z[2] + 3.0)
    total = product.real - product.imag + abs(z[0]) + x[0] ** 2 + abs(x[1]) ** 1.5 + x[2] ** 3
    pairs = np.zeros(8)
    pairs[2], pairs[3] = x[4], x[5]
    turned, table = pairs.view(np.complex128), pairs[2:].reshape((2, 3))
    total += turned[1].imag * table[0, 0] + turned.size + x[6] % 0.7 + (-x[6]) % 0.7 + x[5] // 0.3
    total += 3.0 if turned[1] else 0.0
    total += 5.0 if turned[0] else 0.0
    total += np.arctan2(x[0], x[1]) + np.floor(x[3]) + np.sqrt(abs(x[2])) + np.tanh(x[1])
    return total - (-product).real + (1.0 if z[1] == z[2] else 0.0) + (1 << 3) + float(w[0] > 2)


def _twice(value):
    return value + value


def _filled(v, sign, table):
    """Names that stand for a number and for a group; a loop variable that is a number elsewhere."""
    out = np.empty(v.size)
    for i in range(v.size):
        out[i] = sign * _twice(v[i]) + _twice(i)
    i, g = 0.5, v[1]
    total = g * i
    g = (v[0], v[1], 2)
    for j in range(3):
        total += g[j] * table[j % 2]
    for j in range(out.size):
        total += out[j]
    return total


def calls(x, w):
    """Functions for several types, rooms that are used again, what is known beforehand."""
    total = 0.0
    for i in range(3):
        total += _filled(x[i:], -1.0 if i == 1 else 1.0, (2.0, w[0]))
    if NOTHING is not None:
        total += NOTHING.missing
    return total


NOTHING = None


@needs_compiler
@pytest.mark.parametrize("function", [indices, names, complexes, calls])
def test_the_same_numbers(tmp_path, function):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(7), np.array([5, -7, 2])
    run = in_c(tmp_path, function, x, w)
    for _ in range(20):
        x, w = 3.0 * rng.standard_normal(7), rng.integers(-9, 9, 3)
        mine, theirs = x.copy(), x.copy()
        assert run(mine, w) == pytest.approx(function(theirs, w), rel=1e-14)
        assert np.array_equal(mine, theirs)


def _whole(x, w):
    return x @ x


def _sorted(x, w):
    return sorted(x)[0]


def _itself(x, w):
    return _itself(x, w)


def _mixed(x, w):
    both = (x[0], 1) if w[0] > 0 else x[0]
    return both


def _returned(x, w):
    return _fresh(x)[0]


def _fresh(x):
    return np.zeros(x.size)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (_whole, "x @ x|a number is needed"), (_sorted, "sorted|has no Python text"), (_itself, "calls itself"),
        (_mixed, "stands for"), (_returned, "makes arrays and returns some"),
        (lambda x, w: x[0], "no function with a name"),
    ],
)
def test_what_is_not_known_is_refused(function, told):
    with pytest.raises(Untranslatable, match=told):
        translated(function, (np.zeros(3), np.zeros(2, np.int64)))
