"""The law as a block of Simulink and as a mex function: the commands of the law in Python to the last bit."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexctl as fx

HERE = Path(__file__).parent
COMPILER = shutil.which("gcc") or shutil.which("cc")
OCTAVE, MEX = shutil.which("octave-cli"), shutil.which("mkoctfile")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-Wno-missing-prototypes"]


def linear(**options: Any) -> fx.LinearLaw:
    rng = np.random.default_rng(1)
    A = rng.standard_normal((3, 3))
    A *= 0.8 / np.abs(np.linalg.eigvals(A)).max()
    return fx.LinearLaw(
        2e-3, ("joint1_angle", "tip"), ("joint1_torque", "joint2_torque"), ("tip",), A=A,
        By=rng.standard_normal((3, 2)), Br=rng.standard_normal((3, 3)), Bu=0.1 * rng.standard_normal((3, 2)),
        C=rng.standard_normal((2, 3)), Dy=rng.standard_normal((2, 2)), Dr=rng.standard_normal((2, 3)),
        start=rng.standard_normal((3, 2)),
    ).limited(-2.0, 3.0)


LAWS = {
    "plain": (linear, 1), "late": (lambda: fx.Delayed(linear(), 2), 0),
    "gain": (lambda: fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]]), 1),
    "rounded": (lambda: fx.Delayed(fx.Quantised(linear(), {"tip": 1e-2}), 1), 0),
}


def numbers(law: Any, steps: int = 100) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Readings, references, and the commands of the law in Python."""
    rng = np.random.default_rng(2)
    y, r = rng.standard_normal((steps, len(law.measures))), rng.standard_normal((steps, 3 * len(law.follows)))
    state, u = law.initial_at(y[0]), []
    for k in range(steps):
        command, state = law.step(state, k * law.sample_time, y[k], r[k])
        u.append(command)
    return y, r, np.array(u)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("name", LAWS)
def test_the_block_gives_the_commands_of_the_law(tmp_path, name):
    make, feeds = LAWS[name]
    law = make()
    fx.export_law(law, tmp_path / "out", name=name)
    words = [COMPILER, "-std=c99", "-O1", "-ffp-contract=off", *WARNINGS, "-fPIC", "-shared", f"-I{HERE}"]
    subprocess.run([*words, f"{name}_sfun.c", f"{name}.c", "-o", "block.so", "-lm"], cwd=tmp_path / "out", check=True)
    library = ctypes.CDLL(str(tmp_path / "out" / "block.so"))
    library.block_new.restype, library.block_period.restype = ctypes.c_void_p, ctypes.c_double
    pointer = ctypes.POINTER(ctypes.c_double)
    block, widths = ctypes.c_void_p(library.block_new()), (ctypes.c_int * 5)()
    library.block_widths(block, widths)
    ny, nr, nu = len(law.measures), 3 * len(law.follows), len(law.drives)
    assert list(widths) == [1 + (nr > 0), ny, nr, nu, feeds]
    assert library.block_period(block) == law.sample_time
    y, r, wanted = numbers(law)
    u = np.zeros(nu)
    for k in range(len(y)):
        given = [x.ctypes.data_as(pointer) for x in (y[k], r[k])]
        for _ in range(2):  # outputs may be asked for more than once
            library.block_outputs(block, *given, u.ctypes.data_as(pointer))
            assert np.array_equal(u, wanted[k])
        library.block_update(block, *given)
    library.block_free(block)


@pytest.mark.skipif(OCTAVE is None or MEX is None, reason="Octave or mkoctfile is not installed: apt install "
                    "octave liboctave-dev")
@pytest.mark.parametrize("name", LAWS)
def test_octave_gives_the_commands_of_the_law(tmp_path, name):
    law = LAWS[name][0]()
    fx.export_law(law, tmp_path / "out", name=name)
    folder = tmp_path / "out"
    flags = {**os.environ, "CFLAGS": "-std=c99 -O2 -ffp-contract=off -fPIC"}
    words = [str(MEX), "--mex", f"{name}_step.c", f"{name}.c"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, env=flags)
    y, r, wanted = numbers(law)
    np.savetxt(folder / "y.txt", y, fmt="%.17g")
    np.savetxt(folder / "r.txt", r, fmt="%.17g")
    program = (
        "y = load('y.txt'); r = []; if exist('r.txt') && stat('r.txt').size > 200, r = load('r.txt'); end; s = [];"
        f"for k = 1:rows(y), if isempty(r), rk = []; else rk = r(k, :); end; [u, s, bad] = {name}_step(s, y(k, :), rk);"
        " printf('%.17g ', u); printf('%d\\n', bad); end;"
        f"try, {name}_step(s, [1 2 3 4], rk); catch e, disp(e.message); end"
    )
    call = [str(OCTAVE), "--no-init-file", "--eval", program]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    found = np.array([[float(word) for word in line.split()] for line in lines[: len(y)]])
    assert np.array_equal(found[:, :-1], wanted)
    assert not found[:, -1].any()
    assert "the readings y must be" in lines[len(y)]
