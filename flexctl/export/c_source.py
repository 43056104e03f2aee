"""The source file of a law in C99, and what it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model import FloatArray
from .c_header import comment, dimensions, started
from .program import Program

BLOCKS = {"C": ("s->x", "NX"), "Dy": ("m", "NY"), "Dr": ("r", "NR"), "A": ("s->x", "NX"), "By": ("m", "NY"),
          "Br": ("r", "NR"), "Bu": ("v", "NU")}


@dataclass(frozen=True, eq=False)
class Sizes:
    """Memory and time that the code takes.

    Attributes
    ----------
    state, state_float : int
        Bytes of the state struct in double and in single precision.
    constants : int
        Bytes of the constants in double precision, tables included.
    table : int
        Bytes of tables: references, and laws that are on one after the other.
    multiply_adds, other : int
        Operations per period in the worst case: products that are added to a sum; comparisons, divisions and so on.
    """

    state: int
    state_float: int
    constants: int
    table: int
    multiply_adds: int
    other: int


def sizes(program: Program) -> Sizes:
    """Return what the code of a program takes."""
    n, ny, nr, nu = dimensions(program)
    count = len(program.states)
    numbers = n * count + (program.delay + 1) * nu
    extra = 4 if program.counts else 0
    keys = [key for key in BLOCKS if program.used(key)]
    stored = {
        key: getattr(program.laws[0], key).size for key in (*keys, *(("start",) if started(program) else ()))
    }
    copies = {key: len(program.laws) if program.blend or program.varies(key) else 1 for key in stored}
    phases = sum(stored[key] * copies[key] for key in stored if copies[key] > 1 and not program.blend)
    table = 8 * phases + 4 * len(program.switches) + (0 if program.table is None else 8 * program.table.size)
    constants = 8 * sum(stored[key] * copies[key] for key in stored) + (table - 8 * phases)
    width = {"C": n, "Dy": program.own, "Dr": nr, "A": n, "By": program.own, "Br": nr, "Bu": nu}
    active = min(2, count)
    out = sum(nu * width[key] for key in ("C", "Dy", "Dr") if key in keys) * (active if program.blend else 1)
    on = sum(n * width[key] for key in ("A", "By", "Br", "Bu") if key in keys) * count
    blend = active * nu + 2 if program.blend else 0
    quantised = sum(int(np.count_nonzero(q)) for q in program.quanta)
    other = 2 * (ny + nr + nu) + 3 * quantised + 4 * nu + (2 * len(program.laws) if program.blend else 0)
    other += int(np.ceil(np.log2(len(program.switches) + 1))) if program.switches else 0
    return Sizes(
        8 * numbers + (8 if extra else 0), 4 * numbers + extra, constants, table, out + on + blend + quantised, other,
    )


def constant(value: float) -> str:
    """Return a number as C writes it: exact, and readable."""
    if np.isinf(value):
        return "LARGEST" if value > 0 else "-LARGEST"
    return f"K({float(value).hex()}) /* {float(value):.17g} */"


def array(kind: str, name: str, shape: str, values: FloatArray) -> str:
    """Return the definition of constants, one number a line."""

    def nested(part: FloatArray, depth: int) -> str:
        pad = "    " * depth
        if part.ndim == 1:
            body = ",\n".join(f"{pad}    {constant(x)}" for x in part)
            return f"{pad}{{\n{body}\n{pad}}}"
        return f"{pad}{{\n" + ",\n".join(nested(row, depth + 1) for row in part) + f"\n{pad}}}"

    return f"static const {kind} {name}{shape} =\n{nested(np.asarray(values, float), 0)};\n"


def source(program: Program, name: str, about: Sequence[str]) -> str:
    """Return the source file."""
    up, (n, ny, nr, nu) = name.upper(), dimensions(program)
    floors = any(np.any(q > 0) for q in program.quanta)
    parts = [
        comment(about), f'#include "{name}.h"\n\n#include <float.h>' + ("\n#include <math.h>" if floors else "") + "\n",
        GUARD.replace("NAME", up), f"typedef {name}_real real;\n",
        "#define K(x) ((real)(x))", f"#ifdef {up}_FLOAT\n#define LARGEST FLT_MAX",
        *(["#define FLOOR(x) floorf(x)"] if floors else []), "#else\n#define LARGEST DBL_MAX",
        *(["#define FLOOR(x) floor(x)"] if floors else []), "#endif\n",
        _sizes(program, n, ny, nr, nu), *_constants(program, n), FINITE,
        *([_placing(program)] if program.blend else []), *([_phase(program)] if program.switches else []),
        _begin(program, name, n, nu), _step(program, name, n, ny, nr, nu),
    ]
    if program.table is not None:
        parts.append(FOLLOW.replace("NAME", name))
    return "\n".join(parts)


GUARD = """\
#ifdef __FAST_MATH__
#error "-ffast-math changes the order of sums: compile with -std=c99 -ffp-contract=off"
#endif
#if defined(FLT_EVAL_METHOD) && !defined(NAME_ANY_PRECISION)
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "this target keeps more digits than the type (x87): other numbers; define NAME_ANY_PRECISION to accept that"
#endif
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize ("fp-contract=off")
#elif defined(_MSC_VER)
#pragma fp_contract (off)
#endif
"""

FINITE = """\
/* Whether all numbers are finite. */
static int finite_all(const real *x, int count)
{
    int good = 1;
    for (int i = 0; i < count; i++) {
        if (!(x[i] >= -LARGEST && x[i] <= LARGEST)) {
            good = 0;
        }
    }
    return good;
}
"""

FOLLOW = """\
void NAME_reference(uint32_t period, NAME_real *r)
{
    const uint32_t last = (uint32_t)ROWS - 1U;
    const uint32_t row = period < last ? period : last;
    for (int i = 0; i < NR; i++) {
        r[i] = TABLE[row][i];
    }
}

int NAME_follow(NAME_state *s, const NAME_real *y, NAME_real *u)
{
    NAME_real r[NR];
    NAME_reference(s->period, r);
    return NAME_step(s, y, r, u);
}
"""


def _sizes(program: Program, n: int, ny: int, nr: int, nu: int) -> str:
    """Return the sizes of arrays as constants of the compiler; those that are 0 do not occur."""
    listed = {"NX": n, "NY": program.own, "ALL_NY": ny, "NR": nr, "NU": nu, "DELAY": program.delay}
    if program.blend:
        listed["LAWS"] = len(program.laws)
    if program.switches:
        listed["PHASES"] = len(program.laws)
    if program.table is not None:
        listed["ROWS"] = len(program.table)
    return "enum { " + ", ".join(f"{key} = {value}" for key, value in listed.items() if value) + " };\n"


def _constants(program: Program, n: int) -> list[str]:
    """Return the definitions of all constants."""
    found = []
    for key, (_, size) in BLOCKS.items():
        if program.used(key) and (key in ("C", "Dy", "Dr") or n):
            rows = "NU" if key in ("C", "Dy", "Dr") else "NX"
            found.append(_matrix(program, key, rows, size, n))
    if started(program):
        found.append(_matrix(program, "start", "NX", "NY", n))
    if program.switches:
        text = ",\n".join(f"    {k}U" for k in program.switches)
        found.append(f"static const uint32_t SWITCH[PHASES - 1] =\n{{\n{text}\n}};\n")
    if program.varies("lower") or program.varies("upper"):
        for key in ("lower", "upper"):
            values = np.array([getattr(law, key) for law in program.laws])
            found.append(array("real", key.upper(), "[PHASES][NU]", values))
    if program.blend:
        points = np.array(program.blend.points)
        found.append(array("real", "POINT", "[LAWS]", points))
        if points.size > 1:
            found.append(array("real", "SLOPE", "[LAWS - 1]", 1.0 / np.diff(points)))
    if program.table is not None:
        found.append(array("real", "TABLE", "[ROWS][NR]", program.table))
    return found


def _matrix(program: Program, key: str, rows: str, columns: str, n: int) -> str:
    lead = f"[{'LAWS' if program.blend else 'PHASES'}]" if program.blend or program.varies(key) else ""
    values = [np.asarray(getattr(law, key)) for law in program.laws]
    if program.blend:  # states that a smaller law has not got are zero
        tall = rows == "NX"
        wide = columns == "NX"
        values = [
            np.pad(v, ((0, n - v.shape[0] if tall else 0), (0, n - v.shape[1] if wide else 0))) for v in values
        ]
    return array("real", _word(key), f"{lead}[{rows}][{columns}]", np.array(values) if lead else values[0])


def _word(key: str) -> str:
    return f"M_{key.upper()}"


def _placing(program: Program) -> str:
    if len(program.laws) == 1:
        return ""
    return """\
/* Number of the last point that is not above the value, at least 0. */
static int place(real value)
{
    int j = 0;
    for (int i = 1; i < LAWS; i++) {
        if (value >= POINT[i]) {
            j = i;
        }
    }
    return j;
}
"""


def _phase(program: Program) -> str:
    return """\
/* Number of the law that is on in a period. */
static int phase_at(uint32_t period)
{
    int low = 0;
    int high = PHASES - 1;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (period >= SWITCH[middle]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}
"""


def _begin(program: Program, name: str, n: int, nu: int) -> str:
    """Return init and start."""
    body = []
    lead = "[l]" if program.blend else ""
    if n and program.blend:
        body += ["    for (int l = 0; l < LAWS; l++) {", "        for (int i = 0; i < NX; i++) {"]
        body += ["            s->x[l][i] = K(0.0);", "        }", "    }"]
    elif n:
        body += ["    for (int i = 0; i < NX; i++) {", "        s->x[i] = K(0.0);", "    }"]
    body += ["    for (int i = 0; i < NU; i++) {"]
    if program.delay:
        body += ["        for (int d = 0; d < DELAY; d++) {", "            s->queue[d][i] = K(0.0);", "        }"]
    body += ["        s->last[i] = K(0.0);", "    }"]
    if program.counts:
        body.append("    s->period = 0U;")
    init = f"void {name}_init({name}_state *s)\n{{\n" + "\n".join(body) + "\n}\n"
    begin = [f"    {name}_init(s);"]
    if program.measures:
        begin.insert(0, "    const int good = finite_all(y, ALL_NY);")
    else:
        begin.insert(0, "    const int good = 1;\n    (void)y;")
    if started(program):
        matrix = _word("start") + (lead if program.blend else "[0]" if program.varies("start") else "")
        loop = [
            "for (int i = 0; i < NX; i++) {", "    real total = K(0.0);", "    for (int j = 0; j < NY; j++) {",
            f"        total += {matrix}[i][j] * y[j];", "    }", f"    s->x{lead}[i] = total;", "}",
        ]
        if program.blend:
            loop = ["for (int l = 0; l < LAWS; l++) {", *(f"    {line}" for line in loop), "}"]
        begin += ["    if (good) {", *(f"        {line}" for line in loop), "    }"]
    begin.append("    return good ? 0 : 1;")
    return init + f"\nint {name}_start({name}_state *s, const {name}_real *y)\n{{\n" + "\n".join(begin) + "\n}\n"


def _sums(program: Program, keys: tuple[str, ...], pad: str) -> list[str]:
    """Return the loops that add the products of one row to `total`."""
    found = []
    for key in keys:
        if not program.used(key):
            continue
        vector, size = BLOCKS[key]
        lead = "[l]" if program.blend else "[p]" if program.varies(key) else ""
        if vector == "s->x" and program.blend:
            vector = "s->x[l]"
        found += [f"for (int j = 0; j < {size}; j++) {{", f"    total += {_word(key)}{lead}[i][j] * {vector}[j];", "}"]
    return [pad + line for line in found]


def _step(program: Program, name: str, n: int, ny: int, nr: int, nu: int) -> str:
    """Return the step."""
    unused = [word for word, count in (("y", ny), ("r", nr)) if not count]
    checks = [f"finite_all({w}, {size})" for w, size, count in (("y", "ALL_NY", ny), ("r", "NR", nr)) if count]
    lines = [f"    (void){word};" for word in unused]
    if ny:
        lines.append("    real m[ALL_NY];")
    lines.append("    real v[NU];")
    if n:
        lines.append(f"    real next{'[LAWS]' if program.blend else ''}[NX];")
    if any(program.varies(key) for key in (*BLOCKS, "lower", "upper")):
        lines.append("    const int p = phase_at(s->period);")
    lines.append(f"    int status = {'(' + ' && '.join(checks) + ') ? 0 : 1' if checks else '0'};")
    body = _readings(program, ny)
    body += _blend(program) if program.blend else _commands(program)
    body += ["    if (!finite_all(v, NU)) {", "        status = 2;", "    }"]
    lines += ["    if (status == 0) {", *(f"    {line}" for line in body), "    }"]
    after = [*_limits(program), *_advance(program, n), *_output(program)]
    lines += ["    if (status == 0) {", *(f"    {line}" for line in after), "    }"]
    lines += ["    for (int i = 0; i < NU; i++) {", "        u[i] = s->last[i];", "    }"]
    if program.counts:
        lines += ["    if (s->period < UINT32_MAX) {", "        s->period++;", "    }"]
    lines.append("    return status;")
    head = f"int {name}_step({name}_state *s, const {name}_real *y, const {name}_real *r, {name}_real *u)\n{{\n"
    return head + "\n".join(lines) + "\n}\n"


def _readings(program: Program, ny: int) -> list[str]:
    """Return how readings are taken and rounded."""
    if not ny:
        return []
    lines = ["    for (int i = 0; i < ALL_NY; i++) {", "        m[i] = y[i];", "    }"]
    for quanta in program.quanta:
        for i, q in enumerate(quanta):
            if q > 0:
                k = constant(q)
                lines.append(f"    m[{i}] = {k} * FLOOR(m[{i}] / K({float(q).hex()}) + K(0.5));")
    return lines


def _commands(program: Program) -> list[str]:
    return [
        "    for (int i = 0; i < NU; i++) {", "        real total = K(0.0);",
        *_sums(program, ("C", "Dy", "Dr"), "        "), "        v[i] = total;", "    }",
    ]


def _blend(program: Program) -> list[str]:
    """Return the weighted sum of the commands of the laws between whose points the reading is."""
    assert program.blend is not None
    by = program.blend.measures.index(program.blend.by)
    value = f"m[{by}] < K(0.0) ? -m[{by}] : m[{by}]" if program.blend.mirrored else f"m[{by}]"
    lines = ["    for (int i = 0; i < NU; i++) {", "        v[i] = K(0.0);", "    }"]
    inner = [
        "for (int i = 0; i < NU; i++) {", "    real total = K(0.0);", *_sums(program, ("C", "Dy", "Dr"), "    "),
        "    v[i] += w * total;", "}",
    ]
    if len(program.laws) == 1:
        return [*lines, "    {", "        const int l = 0;", "        const real w = K(1.0);",
                *(f"        {line}" for line in inner), "    }"]
    return [
        *lines, "    {", f"        const real value = {value};", "        const int first = place(value);",
        "        real weight[2];", "        weight[0] = K(1.0);", "        weight[1] = K(0.0);",
        "        if (first < LAWS - 1 && value > POINT[first]) {",
        "            weight[0] = -SLOPE[first] * (value - POINT[first]) + K(1.0);",
        "            weight[1] = SLOPE[first] * (value - POINT[first]);", "        }",
        "        for (int part = 0; part < 2; part++) {", "            const real w = weight[part];",
        "            if (w > K(0.0) || w < K(0.0)) {", "                const int l = first + part;",
        *(f"                {line}" for line in inner), "            }", "        }", "    }",
    ]


def _limits(program: Program) -> list[str]:
    """Return how the law's own limits are kept."""
    if program.varies("lower") or program.varies("upper"):
        low, high = "LOWER[p][i]", "UPPER[p][i]"
        return [
            "    for (int i = 0; i < NU; i++) {", f"        v[i] = v[i] < {low} ? {low} : v[i];",
            f"        v[i] = v[i] > {high} ? {high} : v[i];", "    }",
        ]
    law, lines = program.laws[0], []
    for i, (low, high) in enumerate(zip(law.lower, law.upper, strict=True)):
        if np.isfinite(low):
            lines += [f"    if (v[{i}] < K({low.hex()})) {{", f"        v[{i}] = {constant(low)};", "    }"]
        if np.isfinite(high):
            lines += [f"    if (v[{i}] > K({high.hex()})) {{", f"        v[{i}] = {constant(high)};", "    }"]
    return lines


def _advance(program: Program, n: int) -> list[str]:
    """Return how the states go on."""
    if not n:
        return []
    lead = "[l]" if program.blend else ""
    sums = [
        "for (int i = 0; i < NX; i++) {", "    real total = K(0.0);", *_sums(program, ("A", "By", "Br", "Bu"), "    "),
        f"    next{lead}[i] = total;", "}", "for (int i = 0; i < NX; i++) {", f"    s->x{lead}[i] = next{lead}[i];",
        "}",
    ]
    if program.blend:
        sums = ["for (int l = 0; l < LAWS; l++) {", *(f"    {line}" for line in sums), "}"]
    return [f"    {line}" for line in sums]


def _output(program: Program) -> list[str]:
    """Return how the command is clipped and delayed."""
    lines = ["    for (int i = 0; i < NU; i++) {"]
    if np.isfinite(program.limit):
        bound = constant(program.limit)
        lines += [f"        const real bound = {bound};", "        v[i] = v[i] < -bound ? -bound : v[i];"]
        lines += ["        v[i] = v[i] > bound ? bound : v[i];"]
    if program.delay:
        lines += [
            "        s->last[i] = s->queue[0][i];", "        for (int d = 1; d < DELAY; d++) {",
            "            s->queue[d - 1][i] = s->queue[d][i];", "        }", "        s->queue[DELAY - 1][i] = v[i];",
        ]
    else:
        lines.append("        s->last[i] = v[i];")
    return [*lines, "    }"]
