"""Files beside the code of a law: the recorded test, build files, README."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .c_header import dimensions, signal_names
from .program import PARTS, Program, derivative
from .vectors import Vectors

if TYPE_CHECKING:
    from .c_source import Sizes
    from .provenance import Provenance

WARNINGS = (
    "-Wall -Wextra -Wpedantic -Wconversion -Wdouble-promotion -Wshadow -Wstrict-prototypes -Wmissing-prototypes "
    "-Wundef -Werror"
)
FLAGS = "-std=c99 -ffp-contract=off"


def test_source(program: Program, name: str, vectors: Vectors) -> str:
    """Return a program that steps the law through a recorded test and compares to the last bit."""
    _, ny, nr, nu = dimensions(program)
    up, count = name.upper(), len(vectors.u)
    periods = ",\n".join(f"    {k}U" for k in vectors.period)
    jumps = f"static const uint32_t period[STEPS] =\n{{\n{periods}\n}};\n" if program.counts else ""
    follow = FOLLOWED if program.table is not None else ""
    text = TEST.replace("@JUMPS@", jumps).replace("@SET@", "        s.period = period[k];\n" if program.counts else "")
    text = text.replace("@FOLLOW@", follow).replace(
        "@AGAIN@", "        one.period = other.period;\n" if program.counts else ""
    )
    text = text.replace("@FOLLOWED@", "    failed |= followed();\n" if follow else "")
    text = text.replace("@Y@", _rows("y", "NY", vectors.y)).replace("@R@", _rows("r", "NR", vectors.r))
    text = text.replace("@U@", _rows("wanted", "NU", vectors.u)).replace("@F@", _rows("wanted", "NU", vectors.single))
    text = text.replace("@NAN@", _nan(ny, nr)).replace("@NY@", str(max(ny, 1))).replace("@NR@", str(max(nr, 1)))
    text = text.replace("@BEGIN@", _numbers(vectors.begin, max(ny, 1)))
    text = text.replace("@NU@", str(nu)).replace("@STEPS@", str(count))
    return text.replace("NAME_FLOAT", f"{up}_FLOAT").replace("NAME", name)


def _numbers(row: np.ndarray, least: int) -> str:
    values = [float(x) for x in row] or [0.0] * least
    return "{ " + ", ".join(f"K({x.hex()})" for x in values) + " }"


def _rows(word: str, size: str, values: np.ndarray) -> str:
    body = ",\n".join(f"    {_numbers(row, 1)}" for row in values)
    return f"static const real {word}[STEPS][{size}] =\n{{\n{body}\n}};\n"


def _nan(ny: int, nr: int) -> str:
    """Return the tests of readings and references that are not finite."""
    calls = [call for call, count in (("NY, 0", ny), ("0, NR", nr)) if count]
    return "".join(f"    failed |= refused({call});\n" for call in calls)


TEST = """\
/* The law NAME against recorded commands: 0 if every one is equal to the last bit. */
#include "NAME.h"

#include <stdio.h>
#include <string.h>

typedef NAME_real real;
#define K(x) ((real)(x))
enum { STEPS = @STEPS@, NY = @NY@, NR = @NR@, NU = @NU@ };

static const real begin[NY] = @BEGIN@;
@JUMPS@@Y@@R@#ifdef NAME_FLOAT
@F@#else
@U@#endif

/* Whether the recorded readings give the recorded commands; the largest difference is printed. */
static int compared(void)
{
    NAME_state s;
    double worst = 0.0;
    int different = 0;
    NAME_init(&s);
    if (NAME_start(&s, begin) != 0) {
        different++;
    }
    for (int k = 0; k < STEPS; k++) {
        real u[NU];
@SET@        if (NAME_step(&s, y[k], r[k], u) != 0) {
            different++;
        }
        for (int i = 0; i < NU; i++) {
            const double away = (double)u[i] - (double)wanted[k][i];
            const double size = away < 0.0 ? -away : away;
            if (!(size <= 0.0)) {
                different++;
            }
            if (!(size <= worst)) {
                worst = size;
            }
        }
    }
    printf("NAME: %d periods, %d commands differ, at most by %g; %lu bytes of state\\n", (int)STEPS, different, worst,
           (unsigned long)sizeof(NAME_state));
    return different == 0 ? 0 : 1;
}

/* Whether a reading (number below ny) or reference that is not a number is reported, and changes nothing. */
static int refused(int ny, int nr)
{
    const real zero = K(0.0);
    const real none = zero / zero;
    int failed = 0;
    NAME_state one;
    NAME_state other;
    NAME_init(&one);
    NAME_init(&other);
    for (int k = 0; k < 8 && k < STEPS; k++) {
        real bad_y[NY];
        real bad_r[NR];
        real u[NU];
        real before[NU];
        memcpy(bad_y, y[k], sizeof bad_y);
        memcpy(bad_r, r[k], sizeof bad_r);
        if (ny > 0) {
            bad_y[k % ny] = none;
        }
        if (nr > 0) {
            bad_r[k % nr] = none;
        }
        (void)NAME_step(&one, y[k], r[k], before);
        failed |= NAME_step(&one, bad_y, bad_r, u) != 1;
        failed |= memcmp(u, before, sizeof u) != 0;
        (void)NAME_step(&other, y[k], r[k], u);
        failed |= memcmp(u, before, sizeof u) != 0;
@AGAIN@    }
    if (failed != 0) {
        printf("NAME: a value that is not a number is not refused as it should be\\n");
    }
    return failed;
}
@FOLLOW@
int main(void)
{
    int failed = compared();
@NAN@@FOLLOWED@    return failed == 0 ? 0 : 1;
}
"""

FOLLOWED = """
/* Whether the table gives what its rows say. */
static int followed(void)
{
    NAME_state one;
    NAME_state other;
    int failed = 0;
    NAME_init(&one);
    NAME_init(&other);
    for (int k = 0; k < STEPS; k++) {
        real known[NR];
        real u[NU];
        real v[NU];
        NAME_reference(one.period, known);
        failed |= NAME_follow(&one, y[k], u) != 0;
        failed |= NAME_step(&other, y[k], known, v) != 0;
        failed |= memcmp(u, v, sizeof u) != 0;
    }
    return failed;
}
"""


def makefile(name: str, program: Program) -> str:
    """Return the Makefile; what it builds lies in build/."""
    libm = " -lm" if any(np.any(q > 0) for q in program.quanta) else ""
    return f"""\
# make | make test | make sanitize | make clean;  CC=clang or another compiler
# The two flags of FLAGS keep the numbers: no other order of sums, no fused multiply-add. Never add -ffast-math.
CC ?= cc
FLAGS = {FLAGS}
OPTIMISE ?= -O2
WARNINGS = {WARNINGS}
COMPILE = $(CC) $(FLAGS) $(OPTIMISE) $(WARNINGS)

all: build/{name}.o build/{name}_float.o

build/{name}.o: {name}.c {name}.h
	@mkdir -p build
	$(COMPILE) -c {name}.c -o $@

build/{name}_float.o: {name}.c {name}.h
	@mkdir -p build
	$(COMPILE) -D{name.upper()}_FLOAT -c {name}.c -o $@

build/test: build/{name}.o test.c
	$(COMPILE) test.c build/{name}.o -o $@{libm}

build/test_float: build/{name}_float.o test.c
	$(COMPILE) -D{name.upper()}_FLOAT test.c build/{name}_float.o -o $@{libm}

test: build/test build/test_float
	build/test
	build/test_float

sanitize:
	@mkdir -p build
	$(COMPILE) -g -fsanitize=address,undefined -fno-sanitize-recover test.c {name}.c -o build/test_sanitized{libm}
	build/test_sanitized

clean:
	rm -rf build

.PHONY: all test sanitize clean
"""


def cmake(name: str, program: Program) -> str:
    """Return CMakeLists.txt: a static library and its test."""
    math = any(np.any(q > 0) for q in program.quanta)
    single = f"target_compile_definitions({name}_float PUBLIC {name.upper()}_FLOAT)\n"
    parts = []
    for target, define in ((name, ""), (f"{name}_float", single)):
        link = f"if(UNIX)\n  target_link_libraries({target} PUBLIC m)\nendif()\n" if math else ""
        parts.append(
            f"add_library({target} STATIC {name}.c)\n"
            f"target_include_directories({target} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})\n{define}{link}"
            f"add_executable({target}_test test.c)\ntarget_link_libraries({target}_test PRIVATE {target})\n"
            f"add_test(NAME {target} COMMAND {target}_test)\n"
        )
    return (
        f"cmake_minimum_required(VERSION 3.10)\nproject({name} C)\nset(CMAKE_C_STANDARD 99)\n"
        "set(CMAKE_C_STANDARD_REQUIRED ON)\nset(CMAKE_C_EXTENSIONS OFF)\n"
        "# no fused multiply-add: the numbers are those of the law in flexctl to the last bit\n"
        'if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")\n  add_compile_options(-ffp-contract=off)\nendif()\n'
        "enable_testing()\n\n"
        + "\n".join(parts)
    )


def readme(
    program: Program, name: str, told: Provenance, taken: Sizes, vectors: Vectors, notes: Sequence[str]
) -> str:
    """Return README.md of the folder."""
    up = name.upper()
    signals = "\n".join(_signal_rows(program, name))
    use = [
        f"{name}_state s;", f"{name}_init(&s);", f"{name}_start(&s, y);      /* once, with the first readings */",
        f"{name}_step(&s, y, r, u);  /* every {program.sample_time:.9g} s */",
    ]
    if program.table is not None:
        rows = len(program.table)
        use.append(f"{name}_follow(&s, y, u);   /* instead: the references are in the table, {rows} periods */")
    lines = [
        f"# {told.title}: a control law in C99", "",
        "Written by flexctl; do not edit, export again. Reentrant, no memory is allocated, no global variable changes.",
        "", "## Use", "", "```c", *use, "```", "",
        "A step returns 0; 1 if a reading or reference is not finite, 2 if the command would not be: the last command",
        "is then held and the state stays. Numbers are double; with `-D" + up + "_FLOAT` single precision.", "",
        "| index | signal | unit |", "|---|---|---|", signals, "",
        "## What it takes", "",
        f"* state: {taken.state} bytes in double, {taken.state_float} in single precision",
        f"* constants: {taken.constants} bytes in double, of which tables {taken.table}",
        f"* operations in a period, at most: {taken.multiply_adds} multiplications that are added up, {taken.other}",
        "  other (comparisons, divisions, rounding)", "",
        "## Test", "",
        f"`make test` steps the law through {len(vectors.u)} recorded periods, in double and single precision, and",
        f"demands every command to the last bit ({100 * vectors.limited:.3g} % of them are at a limit).",
        "`make sanitize` does so under the sanitizers of the compiler.", "",
        f"The numbers depend on the order of sums: compile with `{FLAGS}`, never with -ffast-math.",
        "32-bit x86 without SSE (x87) keeps other digits and is refused.", "",
        "## Simulink, MATLAB, Octave", "",
        f"`mex {name}_sfun.c {name}.c` makes the block \"{name}_sfun\" for an S-Function block,",
        f"`mex {name}_step.c {name}.c` (Octave: `mkoctfile --mex {name}_step.c {name}.c`)",
        f"the function `[u, s, status] = {name}_step(s, y, r)`.",
        "Give the compiler `-ffp-contract=off` (CFLAGS) where it would fuse multiplications and additions.", "",
        "## Provenance", "",
        f"* plant: {told.plant}", f"* made on {told.date}", f"* sha256 of the numbers: {told.digest}",
        *(f"* {line}" for line in told.margins),
        f"* certificate: {told.certificate}", *(f"* {line}" for line in told.assumptions), "",
        "## Notes", "", *(f"* {note}" for note in notes), "",
    ]
    return "\n".join(lines)


def _signal_rows(program: Program, name: str) -> list[str]:
    words, rows = signal_names(program, name), []
    for kind, signals in (("measures", program.measures), ("follows", program.follows), ("drives", program.drives)):
        for word, signal in zip(words[kind], signals, strict=True):
            parts = PARTS if kind == "follows" else ("",)
            for order, part in enumerate(parts):
                unit = derivative(signal.unit, order) or "not known"
                plus = f" + {order}" if order else ""
                vector = {"measures": "y", "follows": "r", "drives": "u"}[kind]
                rows.append(f"| {vector}[{word}{plus}] | {signal.name}{f', {part}' if part else ''} | {unit} |")
    return rows
