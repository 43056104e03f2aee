"""Residual, tangent, output and closures of `assumed_modes` for the time loop.

The same equations as `assumed_modes.motion` and `assumed_modes`, one sweep from the base to the ends and back: on the
way out the acceleration of every root and its derivatives, on the way back the force F that what a root carries asks
for.

    ints  = header (names below), then for each link (parent, first elastic coordinate, k, shape values of its points,
            place of their table P, place of its root on the parent), each pin (link, place, link, place), each output
            (kind, row, link, place, axis), places of the ends of all links, coordinates driven by motion, for each part
            of a force along a link (link, place, input, kind, place of its weight and of the slope there)
    reals = alpha, gravity, T, K, C, inertia, B, then for each link P (see `sweep`), and fields: for each point c0, x,
            a (k), b (k), H (k x k); at the end room for scratch, so that each run works on a copy

"Place" is an index of reals. With coordinates driven by motion u begins with their accelerations. The closure forces
lam stand behind the inputs in u.

With cylinders (`wrappers.hydraulic`) a coordinate z for each driven one stands behind the others, u begins with their
commands, and reals end with the table (c0, c1, c2, b, p_ref) of the cylinders.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....kernels.jit import kernel
from ....kernels.tables import FAST, WITHIN
from ....kernels.vectors import put
from ....kernels.views import complex_part, part, square

N, LINKS, P, OUTPUTS, PINS, PLAIN_T, SHORT, T_AT, K_AT, C_AT, J_AT, B_AT, PINNED, TABLE, PIN_TABLE = range(15)


CHANNELS, TIP_LINK, TIP, TIP_INPUT, WAY, WAY_AT, ENDS, DRIVEN, DRIVEN_AT, LOADS, LOADS_AT = range(15, 26)


AXIAL, SPARE, SHAPES, HEADER = range(26, 30)


POSITION, RATE, PLACE, ACCELERATION, ERROR, ACROSS, CHORD, CHORD_RATE, DRIVE = range(9)


class Spaces(NamedTuple):
    """Scratch of one evaluation, at the end of reals: nothing is allocated in a step."""

    x: Any  # (n,) angles of links and elastic coordinates; their rates, accelerations
    dx: Any
    ddx: Any
    total: Any
    b: Any
    asked: Any
    cosine: Any  # (links,)
    sine: Any
    u: Any  # inputs, and closure forces
    S: Any  # (n, n)
    M: Any
    E: Any  # (links,) complex from here on
    A0: Any
    F: Any
    C0: Any  # (links n,)
    dF: Any
    J: Any  # (n + 1,)
    Dq: Any
    Dv: Any
    stations: Any  # (links (n + 1),)
    one: Any  # (n,)
    other: Any
    early: Any
    late: Any
    f: Any  # (most shape values of a link,)
    y: Any
    X: Any
    Y: Any


def sizes(n: int, links: int, inputs: int, shapes: int) -> tuple[int, ...]:
    """Return how many numbers each of `Spaces` takes; a complex one is two."""
    real = (*(n,) * 6, links, links, inputs, n * n, n * n)
    return (*real, *(2 * links,) * 3, *(2 * links * n,) * 2, *(2 * (n + 1),) * 3, 2 * links * (n + 1), *(2 * n,) * 4,
            *(2 * shapes,) * 4)


@kernel(**WITHIN)
def spaces(reals, ints):
    """Return the scratch."""
    n, links, shapes, c = ints[N], ints[LINKS], ints[SHAPES], ints[SPARE]
    inputs, flat, m, ln = ints[P] + 2 * ints[PINS], n * n, n + 1, links * n
    x, dx, ddx = part(reals, c, n), part(reals, c + n, n), part(reals, c + 2 * n, n)
    total, b, asked = part(reals, c + 3 * n, n), part(reals, c + 4 * n, n), part(reals, c + 5 * n, n)
    c += 6 * n
    cosine, sine, u = part(reals, c, links), part(reals, c + links, links), part(reals, c + 2 * links, inputs)
    c += 2 * links + inputs
    S, M = square(reals, c, n), square(reals, c + flat, n)
    c += 2 * flat
    E, A0 = complex_part(reals, c, links), complex_part(reals, c + 2 * links, links)
    F = complex_part(reals, c + 4 * links, links)
    c += 6 * links
    C0, dF = complex_part(reals, c, ln), complex_part(reals, c + 2 * ln, ln)
    c += 4 * ln
    J, Dq, Dv = complex_part(reals, c, m), complex_part(reals, c + 2 * m, m), complex_part(reals, c + 4 * m, m)
    c += 6 * m
    stations = complex_part(reals, c, links * m)
    c += 2 * links * m
    one, other = complex_part(reals, c, n), complex_part(reals, c + 2 * n, n)
    early, late = complex_part(reals, c + 4 * n, n), complex_part(reals, c + 6 * n, n)
    c += 8 * n
    f, y = complex_part(reals, c, shapes), complex_part(reals, c + 2 * shapes, shapes)
    X, Y = complex_part(reals, c + 4 * shapes, shapes), complex_part(reals, c + 6 * shapes, shapes)
    return Spaces(
        x, dx, ddx, total, b, asked, cosine, sine, u, S, M, E, A0, F, C0, dF, J, Dq, Dv, stations, one, other, early,
        late, f, y, X, Y,
    )


@kernel(**FAST)
def directions(x, reals, ints):
    """Fill cosine and sine of the angles of the links."""
    room = spaces(reals, ints)
    for i in range(ints[LINKS]):
        room.cosine[i], room.sine[i] = np.cos(x[i]), np.sin(x[i])


@kernel(**FAST)
def angles(q, reals, ints, eta):
    """Return eta = T q in `eta`."""
    n, start = ints[N], ints[T_AT]
    put(q, eta)
    if ints[PLAIN_T] == 0:
        for i in range(ints[LINKS]):
            total = 0.0
            for j in range(n):
                total += reals[start + i * n + j] * q[j]
            eta[i] = total


@kernel(**FAST)
def turned(r, reals, ints, spare):
    """Replace r by T^T r."""
    n, start = ints[N], ints[T_AT]
    put(r, spare)
    for i in range(ints[LINKS]):
        r[i] = 0.0
    for i in range(ints[LINKS]):
        for j in range(n):
            r[j] += reals[start + i * n + j] * spare[i]


@kernel(**FAST)
def turned_twice(S, reals, ints, spare):
    """Replace S by T^T S T."""
    n, links, start = ints[N], ints[LINKS], ints[T_AT]
    for i in range(n):
        turned(S[i], reals, ints, spare)
    for j in range(n):
        for i in range(links):
            spare[i] = S[i, j]
            S[i, j] = 0.0
        for i in range(links):
            for m in range(n):
                S[m, j] += reals[start + i * n + m] * spare[i]


@kernel(**FAST)
def point(reals, at, body, state, J, Dq, Dv):
    """Place and acceleration of a point against the root of its link; their derivatives by (theta, z).

    body: link, its first elastic coordinate and their number, whether it shortens, and its direction E; state: angles
    and elastic coordinates, rates, accelerations.
    """
    (link, first, k, short, E), (q, v, a) = body, state
    w, alpha = v[link], a[link]
    zeta, rate, acc = complex(reals[at + 1], 0.0), 0j, 0j
    for i in range(k):
        slope = complex(reals[at + 2 + i], reals[at + 2 + k + i])
        J[1 + i] = slope
        Dq[1 + i], Dv[1 + i] = 0j, 0j
        zeta += slope * q[first + i]
    if short:
        for i in range(k):
            Hz, Hv, Ha = 0.0, 0.0, 0.0
            for j in range(k):
                H = reals[at + 2 + 2 * k + i * k + j]
                Hz += H * q[first + j]
                Hv += H * v[first + j]
                Ha += H * a[first + j]
            J[1 + i] -= Hz
            zeta -= 0.5 * Hz * q[first + i]
            acc -= Hv * v[first + i]
            Dq[1 + i] = -Ha - 2j * w * Hv
            Dv[1 + i] = complex(-2.0 * Hv, 0.0)
    turn = complex(-w * w, alpha)
    for i in range(k):
        rate += J[1 + i] * v[first + i]
        acc += J[1 + i] * a[first + i]
        Dq[1 + i] = (Dq[1 + i] + turn * J[1 + i]) * E
        Dv[1 + i] = (Dv[1 + i] + 2j * w * J[1 + i]) * E
        J[1 + i] *= E
    acc = (acc + 2j * w * rate + turn * zeta) * E
    J[0], Dq[0], Dv[0] = 1j * zeta * E, 1j * acc, (2j * rate - 2.0 * w * zeta) * E
    return zeta * E, acc


@kernel(**FAST)
def bend(reals, at, body, J, force, scale, S):
    """Add the second derivatives of the work of a given force at a point; body as in `point`."""
    link, first, k, short, E = body
    S[link, link] += scale * (force.conjugate() * 1j * J[0]).real
    for i in range(k):
        x = scale * (force.conjugate() * 1j * J[1 + i]).real
        S[link, first + i] += x
        S[first + i, link] += x
    if short:
        x = scale * (force.conjugate() * E).real
        for i in range(k):
            for j in range(k):
                S[first + i, first + j] -= x * reals[at + 2 + 2 * k + i * k + j]


@kernel(**FAST)
def led(a, u, ints, b):
    """Copy the accelerations, those of coordinates driven by motion as commanded."""
    put(a, b)
    for j in range(ints[DRIVEN]):
        b[ints[ints[DRIVEN_AT] + j]] = u[j]


@kernel(**FAST)
def reach(state, reals, ints, link, at, J0, D0):
    """Place and acceleration of a station against the root of the tree it stands on.

    J0 gets the derivatives of the place by the coordinates, D0 those of the acceleration by the rates. `directions`
    has been called.
    """
    n, short, room = ints[N], ints[SHORT] == 1, spaces(reals, ints)
    J, Dq, Dv = room.J, room.Dq, room.Dv
    for i in range(n):
        J0[i] = D0[i] = 0j
    place, acc = 0j, 0j
    while link >= 0:
        row = ints[TABLE] + 6 * link
        first, k = ints[row + 1], ints[row + 2]
        E = complex(room.cosine[link], room.sine[link])
        here, push = point(reals, at, (link, first, k, short, E), state, J, Dq, Dv)
        place += here
        acc += push
        J0[link] += J[0]
        D0[link] += Dv[0]
        for i in range(k):
            J0[first + i] += J[1 + i]
            D0[first + i] += Dv[1 + i]
        at = ints[row + 5]
        link = ints[row]
    return place, acc


@kernel(**FAST)
def lean(x, dx, reals, ints, link, rated):
    """Turn of a link's chord against its root, or the rate of it."""
    row = ints[TABLE] + 6 * link
    first, k, at, short = ints[row + 1], ints[row + 2], ints[ints[ENDS] + link], ints[SHORT] == 1
    place, rate = complex(reals[at + 1], 0.0), 0j
    for i in range(k):
        slope = complex(reals[at + 2 + i], reals[at + 2 + k + i])
        place += slope * x[first + i]
        if short:
            Hz = 0.0
            for j in range(k):
                Hz += reals[at + 2 + 2 * k + i * k + j] * x[first + j]
            place -= 0.5 * Hz * x[first + i]
            slope -= Hz
        rate += slope * dx[first + i]
    return (rate / place).imag if rated else np.arctan2(place.imag, place.real)
