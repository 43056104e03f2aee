"""The linear part of a law of which only `step` is known, state hidden in the object included.

About rest one reading (or reference) is moved at one instant only, by +e and by -e, and half the difference of the
commands over e are the Markov parameters of the law, h[0], h[1], ... Their Hankel matrix has the rank of the law:

    u = D h,   H = [h[1+i+j]] = U S V',   order at the gap of S,   A = U_up^+ U_down,   B = S V'[:, 0],   C = U[0]

It is a linear law about rest if twice e and much smaller e give the same, if the instant does not matter, if what it
answers to everything at once is the sum, and if a gap is found with which all Markov parameters come out again.
Otherwise (a relay, an encoder inside the law, a dead zone, a schedule of time) it is refused with the reason.
Source: Ho and Kalman 1966; Kung 1978.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import NotAvailable, require
from ..linear import FirstOrder
from ..model import FloatArray, names
from ..support.kinds import AnyLaw
from .controller import Controller, LinearLaw, check_answer, checked, initial_at

SAMPLES = (160, 480)
"""Lengths of the experiments, the second where the first shows no gap."""
SIZES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Moves of a reading that are tried, in its unit; relative to the reading where that is larger than 1."""
SAME, AGREES, GAP = 1e-7, 1e-6, 1e4
SMALLER, LEAST = (1e-3, 1e-6), 1e-9
"""Parts of the move with which the answer must be the same, to `ROUGHLY` since rounding counts; the smallest move."""
ROUGHLY = 1e-3
STATED, MOVES, HEARD = 0.05, (1e-3, 1e-2, 0.1, 1.0, 1e-5), 24
"""Part by which a law may differ from the linear part that it states, moves with one of which it must agree, and
samples for which it is heard. Encoders and limits inside a law change its answer to some moves, not to all."""
HOLDS, SETTLED = 1e-6, 400
"""Part by which the command at rest may miss what holds the arm, and samples in which filters come to rest."""
LATER, OTHER_TIMES = (23, 4001), (0.917, 7.31, 61.7, 503.0)
"""When the move is made besides at once: after so many samples at rest, and with so much [s] added to the time."""
FADES, DRIFTS = 0.5, 1e-10
"""At rest, long after any motion of its own, the command of a law comes to rest: in the second half of an experiment it
moves less than this part of what it moves in the first, or by less than this part of its size."""


def copied(law: Any) -> Any:
    """Return a copy of a law, or itself where it cannot be copied: then `initial` must make it forget."""
    try:
        return copy.deepcopy(law)
    except Exception:  # noqa: BLE001 - whatever a class of the user's raises
        return law


def realised(
    law: AnyLaw, y: Sequence[float], r: Sequence[float] = (), held: Sequence[float] | None = None,
    moving: Sequence[bool] = (),
) -> LinearLaw:
    """Return the linear law to which a sampled law reduces about rest.

    Parameters
    ----------
    law : Controller
        Anything with `step`; it is copied before every experiment.
    y : sequence of float
        What it reads at rest.
    r : sequence of float
        Values of its reference channels at rest.
    held : sequence of float, optional
        Commands that hold the plant at rest, against gravity for example. A law that gives others there comes to
        rest elsewhere; it must respond there as it does at y.
    moving : sequence of bool, optional
        Which readings are zero at rest wherever that is: rates and accelerations.

    Raises
    ------
    NotAvailable
        Where the law is not linear about rest.

    Examples
    --------
    >>> law = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]])
    >>> fx.realised(law, [0.0]).Dy
    array([[-6.8]])
    """
    if not isinstance(law, Controller) or not checked(law).sample_time > 0.0:
        raise NotAvailable(f"{type(law).__name__} has no linear part (feedback()) and no step: no poles and no margins")
    rest = _Rest(law, np.asarray(y, float), _channels(law, r))
    for samples in SAMPLES:
        h = rest.markov(samples, range(rest.y.size))
        try:
            more = rest.markov(samples, range(rest.y.size, rest.y.size + rest.r.size))
        except NotAvailable:  # poles and margins need the readings alone
            more = np.zeros((samples, len(law.drives), rest.r.size))
        found = _realisation(np.concatenate([h, more], axis=2))
        if found is not None:
            rest.check_together(h)
            rest.check_rest(h)
            A, B, C, D = found
            n = rest.y.size
            if held is not None:
                rest.check_held(np.asarray(held, float), moving, h, (A, B[:, :n], C, D[:, :n]))
            return LinearLaw(
                float(law.sample_time), tuple(law.measures), tuple(law.drives), tuple(law.follows),
                A=A, By=B[:, :n], Br=B[:, n:], C=C, Dy=D[:, :n], Dr=D[:, n:],
            )
    raise _refused(law, f"{SAMPLES[-1]} Markov parameters show no finite order")


def _refused(law: Any, why: str) -> NotAvailable:
    name = type(law).__name__
    return NotAvailable(f"{name} has no linear part (feedback()), and its step is not linear about rest: {why}")


def _channels(law: Any, r: Sequence[float]) -> FloatArray:
    """Return value, rate and acceleration of every reference channel at rest."""
    found = np.zeros(3 * len(law.follows))
    fits = len(r) in (0, len(law.follows))
    require(fits, f"r has {len(r)} numbers; the law follows {len(law.follows)} channels: {list(law.follows)}")
    found[::3] = r if len(r) else 0.0
    return found


class _Rest:
    """A law at rest, and experiments on copies of it."""

    def __init__(self, law: Any, y: FloatArray, r: FloatArray) -> None:
        self.law, self.y, self.r = law, y, r
        self.moves: dict[int, float] = {}

    def commands(self, samples: int, move: FloatArray, at: int, begin: float) -> FloatArray:
        """Return the commands when (y, r) is moved at one instant, from that on; `begin` [s] is added to the time."""
        law, ny = copied(self.law), self.y.size
        state, found = initial_at(law, self.y), np.zeros((samples, len(law.drives)))
        rest = np.concatenate([self.y, self.r])
        for k in range(at + samples):
            read, t = rest + move if k == at else rest.copy(), begin + k * law.sample_time
            u, state = check_answer(law.step(state, t, read[:ny], read[ny:]), law, t)
            found[k - at if k >= at else 0] = u
        return found

    def answer(self, samples: int, channel: int, move: float, at: int = 0, begin: float = 0.0) -> FloatArray:
        """Return half the difference of the commands for +move and -move of a channel, over move."""
        moved = np.zeros(self.y.size + self.r.size)
        moved[channel] = move
        up, down = (self.commands(samples, sign * moved, at, begin) for sign in (1.0, -1.0))
        return np.asarray((up - down) / (2.0 * move))

    def markov(self, samples: int, channels: Sequence[int]) -> FloatArray:
        """Return h[k] of the channels, (samples, commands, channels)."""
        columns = [self._column(samples, channel) for channel in channels]
        return np.stack(columns, axis=2) if columns else np.zeros((samples, len(self.law.drives), 0))

    def _column(self, samples: int, channel: int) -> FloatArray:
        scale, seen = max(1.0, abs(float(np.concatenate([self.y, self.r])[channel]))), 0.0
        for size in SIZES:
            h, twice = (self.answer(samples, channel, factor * size * scale) for factor in (1.0, 2.0))
            largest = max(float(np.abs(h).max()), float(np.abs(twice).max()))
            seen = max(seen, largest)
            if np.abs(h - twice).max() > SAME * largest:
                continue
            self._check(h, channel, size * scale, LEAST * scale, seen)
            self.moves[channel] = size * scale
            return h
        moved = f"{self._name(channel)} moved by {SIZES[-1] * scale:.3g} and by twice that"
        raise _refused(self.law, f"{moved} does not respond in proportion")

    def _check(self, h: FloatArray, channel: int, move: float, least: float, seen: float) -> None:
        """Refuse dead zones, quanta and laws that depend on time."""
        name, samples, largest = self._name(channel), len(h), float(np.abs(h).max())
        for little in (max(part * move, least) for part in SMALLER):
            small = self.answer(samples, channel, little)
            if np.abs(h - small).max() > ROUGHLY * largest or (largest == 0.0 and seen > 0.0):
                raise _refused(self.law, f"{name} is rounded, or has a dead zone, near {little:.3g}")
        again = [self.answer(samples, channel, move, LATER[0])]
        again += [self.answer(8, channel, move, begin=begin) for begin in OTHER_TIMES]
        if any(np.abs(h[: len(other)] - other).max() > AGREES * max(largest, 1e-300) for other in again):
            raise _refused(self.law, f"its response to {name} depends on time")

    def check_together(self, h: FloatArray) -> None:
        """Refuse a law that answers to all readings at once, much later, by something else than the sum."""
        sizes = np.array([self.moves[channel] for channel in range(self.y.size)])
        moved = np.concatenate([sizes / (2.0 * len(sizes)), np.zeros(self.r.size)])
        up, down = (self.commands(len(h), sign * moved, LATER[1], 0.0) for sign in (1.0, -1.0))
        wanted = h @ moved[: self.y.size]
        if np.abs(0.5 * (up - down) - wanted).max() > AGREES * max(float(np.abs(h * sizes).max()), 1e-300):
            raise _refused(self.law, f"after {LATER[1]} samples at rest its response is another one, or not the sum")

    def check_rest(self, h: FloatArray) -> None:
        """Refuse a law whose command goes on by itself where nothing moves: in no loop does that come to rest."""
        law, count = copied(self.law), LATER[1]
        state, found = initial_at(law, self.y), np.zeros((count, len(law.drives)))
        for k in range(count):
            t = OTHER_TIMES[-1] + k * law.sample_time
            found[k], state = check_answer(law.step(state, t, self.y.copy(), self.r.copy()), law, t)
        first, second = (np.ptp(half, axis=0) for half in np.array_split(found, 2))
        size = np.maximum(np.abs(found).max(axis=0), np.abs(h).max(axis=(0, 2)))
        going = np.flatnonzero(second > np.maximum(FADES * first, DRIFTS * size))
        if going.size:
            drive, by, time = law.drives[going[0]], second[going[0]], 0.5 * count * law.sample_time
            told = f"at rest {drive} goes on by itself, {by:.3g} in {time:.3g} s: it drifts, or swings"
            raise _refused(self.law, told)

    def check_held(
        self, held: FloatArray, moving: Sequence[bool], h: FloatArray, found: tuple[FloatArray, ...]
    ) -> None:
        """Refuse a law that answers otherwise where it holds the arm; one with an integrator finds that by itself."""
        own = self.commands(1, np.zeros(self.y.size + self.r.size), SETTLED, 0.0)[0]
        missing, (A, B, C, D) = held - own, found
        integral = bool(A.size) and float(np.abs(np.linalg.eigvals(A) - 1.0).min()) < 1e-9
        if integral or np.abs(missing).max(initial=0.0) <= HOLDS * max(float(np.abs(held).max(initial=0.0)), 1e-300):
            return
        gain = D + C @ np.linalg.solve(np.eye(len(A)) - A, B)
        gain[:, np.flatnonzero(moving)] = 0.0
        away = np.linalg.lstsq(gain, missing, rcond=None)[0]
        if np.abs(gain @ away - missing).max() > 0.01 * np.abs(missing).max():
            return  # it holds nothing; what the loop does is in its poles
        there = _Rest(self.law, self.y + away, self.r)
        for channel in range(self.y.size):
            other = there.answer(HEARD, channel, self.moves[channel], SETTLED) - h[:HEARD, :, channel]
            if np.abs(other).max() > ROUGHLY * max(float(np.abs(h[:, :, channel]).max()), 1e-300):
                most = int(np.argmax(np.abs(away)))
                raise _refused(
                    self.law,
                    f"{_listed(held)} hold the arm at rest, where it commands {_listed(own)}; with the "
                    f"readings at which it would command the former "
                    f"({self.law.measures[most]} {away[most]:+.3g}) its gains differ",
                )

    def _name(self, channel: int) -> str:
        count = self.y.size
        if channel < count:
            return str(self.law.measures[channel])
        which = ("value", "rate", "acceleration")[(channel - count) % 3]
        return f"the {which} of reference {self.law.follows[(channel - count) // 3]}"


def _listed(values: FloatArray) -> str:
    return ", ".join(f"{value:.4g}" for value in values)


def check_stated(law: Any, stated: FirstOrder, y: Sequence[float], r: Sequence[float] = ()) -> None:
    """Raise `NotAvailable` where a law with `step` answers to its readings otherwise than the linear part it states.

    Encoders, dead zones and limits inside `step` are no part of it: moves of several sizes are tried, and one with
    which both agree to 5 % is enough.
    """
    reads, drives = names(stated.inputs), names(stated.outputs)
    columns, rows = ([own.index(name) for name in some] for own, some in ((reads, law.measures), (drives, law.drives)))
    A, B, C, D = stated.A, stated.B[:, columns], stated.C[rows], stated.D[rows][:, columns]
    wanted, x = [D], B
    for _ in range(HEARD - 1):
        wanted.append(C @ x)
        x = A @ x
    h = np.asarray(wanted)
    rest = _Rest(law, np.asarray(y, float), _channels(law, r))
    for channel in range(rest.y.size):
        scale, largest = max(1.0, abs(float(rest.y[channel]))), float(np.abs(h[:, :, channel]).max())
        least = np.inf
        for size in MOVES:
            least = min(least, float(np.abs(rest.answer(HEARD, channel, size * scale) - h[:, :, channel]).max()))
            if least <= STATED * largest + 1e-12:
                break
        else:
            raise NotAvailable(
                f"{type(law).__name__}.step answers to {law.measures[channel]} otherwise than its feedback() says "
                f"(off by {least:.3g}, of {largest:.3g}): no poles and no margins are known of it"
            )


def _realisation(h: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Return A, B, C, D with D = h[0], C A^(k-1) B = h[k] of the smallest order that has a gap, or None."""
    samples, p, m = h.shape
    columns, rows = (np.maximum(np.abs(h).max(axis=axes), 1e-300) for axes in ((0, 1), (0, 2)))
    scaled = h / columns / rows[:, None]
    half = (samples - 1) // 2
    index = 1 + np.arange(half)[:, None] + np.arange(half)
    hankel = scaled[index].transpose(0, 2, 1, 3).reshape(half * p, half * m)
    U, S, Vt = np.linalg.svd(hankel, full_matrices=False)
    floor = max(float(S[0]), 1e-300) * 1e-13 if S.size else 1.0
    orders = [n for n in range(min(S.size, half * p - p)) if S[n] * GAP < (S[n - 1] if n else 1.0) or S[n] <= floor]
    for n in orders[:8]:
        root = np.sqrt(S[:n])
        O, R = U[:, :n] * root, root[:, None] * Vt[:n]
        A = np.linalg.lstsq(O[:-p], O[p:], rcond=None)[0] if n else np.zeros((0, 0))
        B, C = R[:, :m], O[:p]
        if _reproduces(scaled, A, B, C):
            return A, B * columns, rows[:, None] * C, h[0].copy()
    return None


def _reproduces(h: FloatArray, A: FloatArray, B: FloatArray, C: FloatArray) -> bool:
    x, worst, largest = B, 0.0, 1.0
    for k in range(1, len(h)):
        worst = max(worst, float(np.abs(C @ x - h[k]).max(initial=0.0)))
        x = A @ x
    return worst <= AGREES * largest
