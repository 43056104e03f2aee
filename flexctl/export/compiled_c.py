"""A law as compiled C code in the loop of a simulation: software in the loop.

The code is what `export_law(.., to="c")` writes, built by the compiler of this machine and called through ctypes. Its
state is passed as the bytes of its struct, so that a run repeats as with any law.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..design.design import Design
from ..errors import NotAvailable
from ..laws.controller import Noisy, _Wrapper, bare, layers
from ..laws.given import as_law
from ..laws.governed import Governed
from ..laws.ordered import readings
from ..model import FloatArray
from ..support.kinds import LawGiven
from .c_files import FLAGS
from .c_header import header
from .c_source import source
from .program import Program, Units, program_of
from .sampled import Sampling

NAME = "law"
SHIM = """\
#include "law.h"
unsigned long shim_size(void);
unsigned long shim_real(void);
int shim_step(law_state *s, uint32_t period, const law_real *y, const law_real *r, law_real *u);
unsigned long shim_size(void) { return (unsigned long)sizeof(law_state); }
unsigned long shim_real(void) { return (unsigned long)sizeof(law_real); }
int shim_step(law_state *s, uint32_t period, const law_real *y, const law_real *r, law_real *u)
{
    @SET@;
    return law_step(s, y, r, u);
}
"""


def compiler() -> list[str]:
    """Return the command of the C compiler: what the environment names in CC, else cc, gcc or clang."""
    given = shlex.split(os.environ.get("CC", ""))
    for words in (given,) if given else (["cc"], ["gcc"], ["clang"]):
        if shutil.which(words[0]):
            return words
    wanted = given[0] if given else "cc, gcc or clang"
    raise NotAvailable(f"no C compiler: {wanted} is not installed; install gcc, or name a compiler in the variable CC")


def compiled_c(law: LawGiven, single: bool = False) -> Any:
    """Return a sampled law that runs as compiled C code, for `simulate`, scenarios and certificates.

    Parameters
    ----------
    law : Controller or linear system
        A sampled law that `export_law` can write as C. A `Design` around it is kept, and so is noise, which is made in
        Python.
    single : bool
        Single instead of double precision.

    Returns
    -------
    Controller
        The same law; a run with it is the same to the last bit in double precision.

    Raises
    ------
    NotAvailable
        Where there is no compiler, or the law cannot be written as C.

    Examples
    --------
    >>> law = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]])
    >>> fx.compiled_c(fx.Delayed(law))
    CompiledLaw(law=Delayed(law=LinearLaw(0 states, ['joint1_angle'] -> ['joint1_torque'], every 0.001 s), samples=1), \
single=False)
    """
    if isinstance(law, Design):
        return replace(law, law=compiled_c(law.law, single))
    law = bare(as_law(law))
    if type(law) is Noisy:
        return replace(law, law=compiled_c(law.law, single))
    for layer in layers(law):
        if type(layer) is Noisy:
            raise NotAvailable("noise inside another wrapper cannot stay in Python: put Noisy outside")
        if type(layer) is Governed:
            raise NotAvailable("a governor decides while it runs, and stays in Python: compile the law inside it")
    if not law.sample_time > 0:
        name = type(list(layers(law))[-1]).__name__
        raise NotAvailable(f"the {name} is continuous, and code runs in periods: design a sampled law, sample_time > 0")
    made = CompiledLaw(law, bool(single))
    _ = made.program  # refuses now what cannot be written
    compiler()
    return made


@dataclass(frozen=True)
class CompiledLaw(_Wrapper):
    """See `compiled_c`."""

    single: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """Return what is kept in a pickle: not the library, which is built again."""
        return {"law": self.law, "single": self.single}

    @cached_property
    def program(self) -> Program:
        """One period of the code."""
        return program_of(self.law, Units({}, {}), Sampling(), None, None)

    @cached_property
    def _library(self) -> _Library:
        return _Library(self.program, self.single)

    def initial(self) -> FloatArray:
        """Return the bytes of the struct after init."""
        return self._library.begin(None)

    def initial_at(self, y: FloatArray) -> FloatArray:
        """Return the bytes of the struct after start."""
        return self._library.begin(np.asarray(y, float))

    def step(self, state: FloatArray, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the command and the next state; a command that is refused is not a number."""
        y, r = readings(self, y, r)
        return self._library.step(state, round(t / self.sample_time), y, r)


class _Library:
    """The built code."""

    def __init__(self, program: Program, single: bool) -> None:
        self.real = np.float32 if single else np.float64
        self.count = len(program.drives)
        with tempfile.TemporaryDirectory(prefix="flexctl-law-") as place:
            built = build(Path(place), program, single)
            self.code = ctypes.CDLL(str(built))  # the system keeps the file until the process ends
        self.code.shim_size.restype = ctypes.c_ulong
        self.words = -(-int(self.code.shim_size()) // 8)
        pointer = ctypes.c_void_p
        self.code.law_init.argtypes = [pointer]
        self.code.law_init.restype = None
        self.code.law_start.argtypes = [pointer, pointer]
        self.code.shim_step.argtypes = [pointer, ctypes.c_uint32, pointer, pointer, pointer]

    def begin(self, y: FloatArray | None) -> FloatArray:
        """Return the struct of a fresh instance, as whole words."""
        state = np.zeros(self.words)
        if y is None:
            self.code.law_init(state.ctypes.data)
        else:
            own = np.ascontiguousarray(y, self.real)
            self.code.law_start(state.ctypes.data, own.ctypes.data)
        return state

    def step(self, state: FloatArray, period: int, y: FloatArray, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the command and the next struct."""
        new, u = state.copy(), np.zeros(self.count, self.real)
        own, followed = np.ascontiguousarray(y, self.real), np.ascontiguousarray(r, self.real)
        status = self.code.shim_step(
            new.ctypes.data, min(max(period, 0), 2**32 - 1), own.ctypes.data, followed.ctypes.data, u.ctypes.data
        )
        return (u.astype(float) if status == 0 else np.full(self.count, np.nan)), new


def build(place: Path, program: Program, single: bool) -> Path:
    """Write and compile the code into a shared library in a folder."""
    command = compiler()
    counts = "s->period = period" if program.counts else "(void)period"
    about = ["a law in the loop of a simulation"]
    texts = {f"{NAME}.h": header(program, NAME, about), f"{NAME}.c": source(program, NAME, about)}
    shim = SHIM.replace("@SET@", counts)
    texts["shim.c"] = shim if program.counts else f"#include <stdint.h>\n{shim}"
    for name, text in texts.items():
        (place / name).write_text(text)
    library = place / "law.so"
    define = [f"-D{NAME.upper()}_FLOAT"] if single else []
    words = [*command, *FLAGS.split(), "-O2", "-fPIC", "-shared", *define]
    words += [f"{NAME}.c", "shim.c", "-o", library.name, "-lm"]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        told = "\n".join(["", *done.stderr.strip()[:2000].splitlines()])
        raise NotAvailable(
            f"{shlex.join(command)} cannot build the law, it ended with code {done.returncode}; set CC to another "
            f"compiler, or run the law in Python{told}"
        )
    return library
