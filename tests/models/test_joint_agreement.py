"""The same drives in every formulation, refined, beside a reference: `pytest -m "" -s` prints the table.

One link: the reference is 40 Hermite elements with the equations of the drive written down here (for runs, 12 modes of
them and scipy's Radau). Two links: those equations around the plain methods of an arm of assumed modes, by Radau; poles
beside the exact transfer matrix. The links are thin, turn slowly and bend little, where all formulations mean the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import beams
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eig, eigh
from test_driven_joints import STRIP, TABLE, L

import flexctl as fx
from flexctl.exact.transfer_matrix import TransferMatrixArm

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

ALLOWED = 1e-3
STEP, END = 5e-5, 0.4
MOTOR = fx.Motor(**TABLE)
WOUND = replace(MOTOR, inductance=L)
SLUGGISH = replace(MOTOR, inductance=0.05)
SPRING = {"stiffness": 8.0, "damping": 0.005}
PLAY = {"backlash": 2e-3, "backlash_rounding": 4e-4}
LUGRE = fx.Friction(
    "lugre", coulomb=5e-3, static=7.5e-3, stribeck_rate=0.025, bristle_stiffness=40.0, bristle_damping=0.05
)
TANH = fx.Friction("tanh", coulomb=5e-3, static=7.5e-3, stribeck_rate=0.025, creep_rate=2.5e-3)
DAHL = fx.Friction("dahl", coulomb=5e-3, bristle_stiffness=40.0)


def joint(drive: str, **more: Any) -> fx.Joint:
    return fx.Joint(drive=drive, **{"hub_inertia": 1e-3, "friction": 0.01, "motor": MOTOR} | more)


CASES: dict[str, tuple[fx.Joint, float]] = {
    "rotor and gear, torque": (joint("torque"), 0.015),
    "motor, current": (joint("current"), 0.025),
    "motor, voltage": (joint("voltage"), 0.1),
    "motor with L, voltage": (joint("voltage", motor=WOUND), 0.1),
    "motor with much L, voltage": (joint("voltage", motor=SLUGGISH), 0.1),
    "linear spring, voltage and L": (joint("voltage", motor=WOUND, **SPRING), 0.1),
    "cubic spring, torque": (joint("torque", cubic_stiffness=3e5, **SPRING), 0.015),
    "tanh, torque": (joint("torque", friction_law=TANH), 0.02),
    "LuGre, voltage and L": (joint("voltage", motor=WOUND, friction_law=LUGRE), 0.1),
    "LuGre, current": (joint("current", friction_law=LUGRE), 0.0375),
    "Dahl, torque": (joint("torque", friction_law=DAHL), 0.02),
    "play, torque": (joint("torque", **PLAY, **SPRING), 0.015),
    "LuGre, cubic spring and play, voltage and L": (
        joint("voltage", motor=WOUND, friction_law=LUGRE, cubic_stiffness=3e5, **PLAY, **SPRING), 0.15
    ),
}
"""Each with the amplitude of its input."""
LINEAR = [name for name in CASES if not any(word in name for word in ("tanh", "LuGre", "Dahl", "play", "cubic"))]
PAIRS = (
    ("motor with L, voltage", "linear spring, voltage and L"),
    ("rotor and gear, torque", "motor, current"),
    ("cubic spring, torque", "play, torque"),
    ("LuGre, voltage and L", "tanh, torque"),
    ("Dahl, torque", "LuGre, cubic spring and play, voltage and L"),
)
MESHES: dict[str, dict[str, Any]] = {
    "finite_difference": {"sections": 60}, "timoshenko_planar": {"elements": 40},
    "timoshenko_spatial": {"elements": 40}, "finite_segment": {"segments": 40}, "assumed_modes": {"modes": 8},
    "ancf": {"elements": 48},
}
"""The finer of two, the other has half as many: all but assumed modes converge with their square."""
WHOLE = {"attachment": True, "foreshortening": True}
"""Assumed modes converge at once with the shapes of moments at the end, and stiffen as they spin."""
POSE = 0.2, 0.8
"""Of two links [rad]."""
ROD = fx.measured_link(0.3, mass_per_length=0.15, bending_stiffness=1.0)


def refined(kind: str, links: int = 1) -> list[dict[str, Any]]:
    """Return the meshes from which a formulation is extrapolated."""
    (key, fine), = MESHES[kind].items()
    return [WHOLE | {key: fine // links}] if key == "modes" else [{key: fine // links // 2}, {key: fine // links}]


def extrapolated(found: list[Any]) -> Any:
    return found[-1] + (found[-1] - found[0]) / 3.0


@dataclass
class Drive:
    """The equations of the joint layer, written down once more."""

    joint: fx.Joint

    def __post_init__(self) -> None:
        m = self.joint.motor
        self.turns, self.flexible = m.gear_ratio, self.joint.stiffness > 0.0
        self.inertia = m.gear_ratio**2 * m.rotor_inertia
        self.law = self.joint.friction_law
        self.winding = self.joint.drive == "voltage" and m.inductance > 0.0
        self.bristles = self.law is not None and self.law.kind != "tanh"
        self.size = 2 * self.flexible + self.winding + self.bristles

    def effort(self, w: float, i: float, u: float) -> tuple[float, float]:
        """Torque of the motor at the joint [N m], current [A]."""
        m, back = self.joint.motor, self.turns * self.joint.motor.back_emf
        if self.joint.drive == "torque":
            return u, 0.0
        if self.joint.drive == "current":
            i = u
        elif not self.winding:
            i = (u - back * w) / m.resistance
        return self.turns * m.torque_constant * i, i

    def rubs(self, w: float, z: float) -> tuple[float, float]:
        """Friction [N m] and z'."""
        total, law = self.joint.friction * w, self.law
        if law is None:
            return total, 0.0
        g = law.coulomb
        if law.static is not None:
            g += (law.static - law.coulomb) * np.exp(-((w / law.stribeck_rate) ** 2))
        if law.kind == "tanh":
            return total + g * np.tanh(w / law.creep_rate), 0.0
        rate = w - law.bristle_stiffness * abs(w) * z / g
        return total + law.bristle_stiffness * z + law.bristle_damping * rate, rate

    def spring(self, d: float, rate: float) -> float:
        """Torque of the spring on the link [N m]."""
        b, e, own = self.joint.backlash, self.joint.backlash_rounding, self.joint
        dz, slope = d, 1.0
        if b:
            low, high = np.hypot(d - b, e), np.hypot(d + b, e)
            dz, slope = d + (low - high) / 2.0, 1.0 + ((d - b) / low - (d + b) / high) / 2.0
        return own.stiffness * dz + own.cubic_stiffness * dz**3 + own.damping * slope * rate

    def act(self, q: float, v: float, x: np.ndarray, u: float) -> tuple[float, np.ndarray, float, float, float]:
        """Torque on the link without what the rotor of a rigid joint takes; x' of own states; theta, w, current."""
        theta, w = (x[0], x[1]) if self.flexible else (q, v)
        at = 2 * self.flexible
        i, z = (x[at] if self.winding else 0.0), (x[at + self.winding] if self.bristles else 0.0)
        torque, i = self.effort(w, i, u)
        rubs, slides = self.rubs(w, z)
        rates, out = [], torque - rubs
        if self.flexible:
            out = self.spring(theta - q, w - v)
            rates += [w, (torque - rubs - out) / self.inertia]
        if self.winding:
            m = self.joint.motor
            rates.append((u - m.resistance * i - self.turns * m.back_emf * w) / m.inductance)
        if self.bristles:
            rates.append(slides)
        return out, np.array(rates), theta, w, i


def reference(
    matrices: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]], columns: np.ndarray,
    drives: list[Drive], pushes: list[Callable[[float], float]], times: np.ndarray, q0: np.ndarray,
) -> dict[str, np.ndarray]:
    """Run an arm M(q) a + h(q, v) = B tau with drives in its joints by Radau."""
    n, rotors = len(q0), np.diag([0.0 if d.flexible else d.inertia for d in drives])
    ends = np.cumsum([2 * n, *(d.size for d in drives)])

    def acts(t: float, x: np.ndarray) -> list[Any]:
        q, v = columns.T @ x[:n], columns.T @ x[n : 2 * n]
        parts = zip(drives, ends[:-1], ends[1:], strict=True)
        return [d.act(q[j], v[j], x[a:b], pushes[j](t)) for j, (d, a, b) in enumerate(parts)]

    def slope(t: float, x: np.ndarray) -> np.ndarray:
        found = acts(t, x)
        M, h = matrices(x[:n], x[n : 2 * n])
        a = np.linalg.solve(M + columns @ rotors @ columns.T, columns @ np.array([f[0] for f in found]) - h)
        return np.concatenate([x[n : 2 * n], a, *(f[1] for f in found)])

    start = np.zeros(ends[-1])
    start[:n] = q0
    for j, (d, at) in enumerate(zip(drives, ends[:-1], strict=True)):
        if d.flexible:
            start[at] = columns[:, j] @ q0
    run = solve_ivp(slope, (0.0, times[-1]), start, "Radau", times, rtol=1e-7, atol=1e-9)
    assert run.success
    found: dict[str, np.ndarray] = {}
    for j in range(len(drives)):
        found[f"joint{j + 1}_angle"] = columns[:, j] @ run.y[:n]
        found[f"joint{j + 1}_rate"] = columns[:, j] @ run.y[n : 2 * n]
        every = np.array([acts(t, x)[j][2:] for t, x in zip(times, run.y.T, strict=True)])
        for name, values in zip(("motor_angle", "motor_rate", "current"), every.T, strict=True):
            found[f"joint{j + 1}_{name}"] = values
    return found


def own_poles(name: str) -> np.ndarray:
    """Poles of 40 Hermite elements with this drive, whose matrices are put together here."""
    given = CASES[name][0]
    M, K = beams.hermite(40, length=0.419, stiffness=0.146736125, density=0.155131265, hub=1e-3)
    n, d, m = len(M), Drive(given), given.motor
    size = n + d.flexible + d.winding
    M, K, D = (np.pad(x, (0, size - n)) for x in (M, K, np.zeros((n, n))))
    side = n if d.flexible else 0
    M[side, side] += d.inertia
    D[side, side] += given.friction
    if d.flexible:
        both = np.zeros(size)
        both[0], both[n] = 1.0, -1.0
        K += given.stiffness * np.outer(both, both)
        D += given.damping * np.outer(both, both)
    if d.winding:
        M[-1, -1], D[-1, -1] = m.inductance, m.resistance
        D[-1, side] += d.turns * m.back_emf
        D[side, -1] -= d.turns * m.torque_constant
    elif given.drive == "voltage":
        D[side, side] += d.turns**2 * m.torque_constant * m.back_emf / m.resistance
    zero = np.zeros((size, size))
    left, right = np.block([[np.eye(size), zero], [zero, M]]), np.block([[zero, np.eye(size)], [-K, -D]])
    return chosen(eig(right, left, right=False))


def chosen(poles: np.ndarray) -> np.ndarray:
    """Return those that the drives damp, which is none across the plane, below 500 rad/s, upper ones of a pair."""
    poles = poles[(poles.real < -1e-6 * np.maximum(np.abs(poles), 1.0)) & (np.abs(poles) < 500.0) & (poles.imag >= 0)]
    return poles[np.argsort(np.abs(poles))]


def nearest(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    return np.array([found[np.abs(found - p).argmin()] for p in wanted])


def said(rows: list[tuple[str, str, str, float]]) -> None:
    """Print the table, a line for each case, and assert it."""
    columns = list(dict.fromkeys(row[1] for row in rows))
    print("\n| case | " + " | ".join(columns) + " |")
    for case in dict.fromkeys(row[0] for row in rows):
        cells = [f"{off:.1e} {what}".strip() for name in columns for c, k, what, off in rows if (c, k) == (case, name)]
        print(f"| {case} | " + " | ".join(cells) + " |", flush=True)
    wrong = [row for row in rows if not row[3] <= ALLOWED]
    assert not wrong, wrong


def built(kind: str, names: tuple[str, ...], mesh: dict[str, Any]) -> Any:
    """Return a strip on a joint, or two rods on two."""
    links = (STRIP,) if len(names) == 1 else (ROD, ROD)
    return fx.build(fx.Arm("driven", links, tuple(CASES[name][0] for name in names)), kind, **mesh)


@pytest.mark.parametrize("name", LINEAR)
def test_poles_of_one_link(name: str) -> None:
    """All below 500 rad/s, of all six and of the exact transfer matrix."""
    rows, wanted = [], own_poles(name)
    for kind in MESHES:
        found = [
            chosen(fx.linearise(built(kind, (name,), mesh)).first_order().poles()) for mesh in refined(kind)
        ]
        assert len(found[-1]) == len(wanted)
        off = extrapolated([nearest(p, wanted) for p in found]) - wanted
        rows.append((name, kind, "", float(np.abs(off / wanted).max())))
    exact = chosen(TransferMatrixArm(fx.Arm("strip", (STRIP,), (CASES[name][0],))).poles(below=500.0))
    assert len(exact) == len(wanted)
    rows.append((name, "exact", "", float(np.abs(nearest(exact, wanted) / wanted - 1.0).max())))
    said(rows)


@pytest.mark.parametrize("names", [pair for pair in PAIRS if set(pair) <= set(LINEAR)])
def test_poles_of_two_links(names: tuple[str, ...]) -> None:
    """Bent by 0.8 rad, beside the exact transfer matrix."""
    arm = fx.Arm("driven", (ROD, ROD), tuple(CASES[name][0] for name in names))
    wanted = chosen(TransferMatrixArm(arm, angles=POSE).poles(below=500.0))
    rows = []
    for kind in list(MESHES)[1:]:
        found = []
        for mesh in refined(kind, 2):
            model = built(kind, names, mesh)
            plant = fx.linearise(model, fx.OperatingPoint.at_rest(model, model.pose(POSE)))
            found.append(nearest(chosen(plant.first_order().poles()), wanted))
        rows.append((", ".join(names), kind, "", float(np.abs(extrapolated(found) / wanted - 1.0).max())))
    said(rows)


def sine(amplitude: float, share: float = 1.0) -> Callable[[float], float]:
    return lambda t: share * amplitude * np.sin(4.0 * np.pi * t)


def compared(
    kind: str, names: tuple[str, ...], wanted: dict[str, np.ndarray], pose: tuple[float, ...] = ()
) -> tuple[str, float]:
    """Run; return the output that is furthest off, and by which part of its range."""
    found = []
    for mesh in refined(kind, len(names)):
        model = built(kind, names, mesh)
        inputs = fx.names(model.inputs)[: len(names)]
        pushes = {
            key: fx.Sine(CASES[name][1] * (1.0 - 1.5 * i), 2.0)
            for i, (key, name) in enumerate(zip(inputs, names, strict=True))
        }
        q = model.pose(pose) if pose else model.reference()
        begin = q, np.zeros_like(q)
        found.append(
            fx.simulate(model, inputs=pushes, duration=END, step=STEP, method="trapezoidal", initial=begin)
        )
    outputs, every = fx.names(found[0].outputs), round(END / 200 / STEP)
    off = {
        key: float(np.abs(extrapolated([run[key][::every] for run in found]) - x).max() / np.ptp(x))
        for key, x in wanted.items() if key in outputs
    }
    worst = max(off, key=off.__getitem__)
    return worst, off[worst]


@pytest.mark.parametrize("name", CASES)
def test_runs_of_one_link(name: str) -> None:
    given, amplitude = CASES[name]
    M, K = beams.hermite(40, length=0.419, stiffness=0.146736125, density=0.155131265, hub=1e-3)
    w2, modes = eigh(K, M)
    modes, stiffness = modes[:, :12], np.diag(w2[:12])
    wanted = reference(lambda q, v: (np.eye(12), stiffness @ q), modes[:1].T, [Drive(given)], [sine(amplitude)],
                       np.linspace(0.0, END, 201), np.zeros(12))
    said([(name, kind, *compared(kind, (name,), wanted)) for kind in MESHES])


@pytest.mark.parametrize("names", PAIRS)
def test_runs_of_two_links(names: tuple[str, ...]) -> None:
    """Around an arm of assumed modes without drives, whose plain methods alone are used."""
    plain = fx.Joint(hub_inertia=1e-3)
    model = fx.build(fx.Arm("rods", (ROD, ROD), (plain, plain)), "assumed_modes", modes=2, **WHOLE)
    columns = model.input_matrix(model.reference())[:, :2]
    pushes = [sine(CASES[name][1], 1.0 - 1.5 * i) for i, name in enumerate(names)]
    wanted = reference(lambda q, v: (model.mass(q), model.force(q, v)), columns,
                       [Drive(CASES[name][0]) for name in names], pushes, np.linspace(0.0, END, 201),
                       model.pose(POSE))
    said([(", ".join(names), kind, *compared(kind, names, wanted, POSE)) for kind in list(MESHES)[1:]])
