"""Runs whose exact results are known: arms hit by jumps, moved smoothly, under sampled laws, closed, undamped.

The numbers are copied from a study of the integrators: peak, rms, and values at 0.2, 0.5 and 0.9 of the run over the
1 ms samples, of independent runs that agree to `REFERENCE` of the range: alpha in steps of 2.5 and 5 us, exact modal
sums (A), SDIRK4 with error control on the plain methods (B, C, D, K, L), an explicit Runge-Kutta method of order 8 on
index 1 (J), and the trapezoidal rule at 10 us.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import flexctl as fx
from flexctl.laws.controller import Delayed, LinearLaw
from flexctl.motion.profiles import Cosine, SpinUp
from flexctl.motion.signals import PiecewiseConstant, Sine, bang_bang

DEGREE = np.pi / 180.0
REFERENCE = 2e-4


@dataclass(frozen=True, eq=False)
class Case:
    """A plant and what is done to it; `wanted` are the numbers of its outputs."""

    plant: str
    duration: float
    inputs: dict[str, Any] = field(default_factory=dict)
    beta: float | None = None
    motions: dict[str, Any] = field(default_factory=dict)
    law: Callable[[], tuple[Any, dict[str, Any]]] | None = None
    wanted: dict[str, tuple[float, ...]] = field(default_factory=dict)
    overrides: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def arm(self) -> fx.Plant:
        """Return the plant."""
        damping = {} if self.beta is None else {"damping.kind": "rayleigh", "damping.beta": self.beta}
        return fx.load_plant(self.plant, overrides={**damping, **self.overrides})

    def run(self, arm: fx.Plant | None = None, **options: Any) -> fx.Response:
        """Run it, on a plant that has been loaded or anew."""
        law, reference = self.law() if self.law else (None, None)
        return fx.simulate(
            arm or self.arm(), law, reference, duration=self.duration, inputs=self.inputs, motions=self.motions or None,
            **{**self.options, **options},
        )


def sampled_pd(
    kp: tuple[float, ...] = (20.0, 2.0), kv: tuple[float, ...] = (8.0, 0.8), ends: tuple[float, ...] = (0.5, -0.4),
    time: float = 0.8, period: float = 1e-3,
) -> tuple[Any, dict[str, Any]]:
    """Return torques from joint angles and chord rates, one sample late, and what they follow."""
    angles = tuple(f"joint{i + 1}_angle" for i in range(len(kp)))
    rates = tuple(f"chord{i + 1}_rate" for i in range(len(kp)))
    drives = tuple(f"joint{i + 1}_torque" for i in range(len(kp)))
    n = len(kp)
    Dr = np.zeros((n, 3 * n))
    for i in range(n):
        Dr[i, 3 * i], Dr[i, 3 * i + 1] = kp[i], kv[i]
    Dy = np.hstack([-np.diag(kp), -np.diag(kv)])
    law = Delayed(LinearLaw(period, angles + rates, drives, angles, Dy=Dy, Dr=Dr), 1)
    return law, {name: fx.quintic(0.0, end, time) for name, end in zip(angles, ends, strict=True)}


def both(first: float, second: float, half: float) -> dict[str, Any]:
    """Return bang-bang torques of two joints."""
    return {"joint1_torque": bang_bang(first, half), "joint2_torque": bang_bang(second, half)}


_L = {
    "joint1_torque": PiecewiseConstant((0.25, 0.5), (40.0, -40.0, 0.0)),
    "joint2_torque": PiecewiseConstant((0.25, 0.5), (10.0, -10.0, 0.0)),
}
CASES = {
    "A": Case("rotating_link", 0.6, {"joint1_torque": bang_bang(1e-4, 0.2)}, 1e-4, wanted={
        "link1_deflection": (8.9641e-8, 3.4804e-8, -3.0981e-8, 4.9719e-8, -3.3326e-9),
        "root_strain": (1.5102e-9, 1.2307e-9, -1.5084e-9, 1.5087e-9, 0.0),
        "joint1_rate": (7.6076e-5, 3.0071e-5, 3.8362e-5, 3.741e-5, 2.4557e-6),
    }),
    "B": Case("planar_2r_flexible", 1.5, both(0.1, 0.03, 0.5), 8e-5, wanted={
        "joint2_angle": (4.6043e-3, 3.4984e-3, -7.6199e-4, -4.0514e-3, -4.529e-3),
        "link1_deflection": (1.137e-4, 4.5778e-5, -4.4499e-5, 7.4152e-5, -5.5592e-6),
        "link2_deflection": (5.7377e-5, 1.2106e-5, -1.4607e-5, 2.5167e-6, 2.3994e-6),
        "elbow_strain": (4.9065e-7, 3.6887e-7, -4.538e-7, 4.4772e-7, 1.1063e-9),
    }),
    "C": Case("planar_2r_rigid", 0.8, both(200.0, 60.0, 0.3), wanted={
        "link1_deflection": (3.5774e-4, 2.9277e-4, -3.3241e-4, 3.4484e-4, 1.6883e-5),
        "root_strain": (4.49e-5, 3.8763e-5, -4.4871e-5, 4.49e-5, 4.6454e-9),
        "joint1_rate": (6.4846, 3.3686, 0.56432, -1.5807, -4.3655),
    }),
    "D": Case("tian_2r_beam", 1.2, both(20.0, 8.0, 0.4), wanted={
        "link1_deflection": (1.0593e-4, 6.6314e-5, -8.1407e-5, 8.0963e-5, 4.0906e-8),
        "link2_deflection": (4.5816e-4, 1.7864e-4, -2.0409e-4, 1.4241e-4, 7.5301e-6),
    }),
    "E": Case("simo_vu_quoc_1986", 20.0, motions={"joint1": SpinUp(6.0, 15.0)}, wanted={
        "tip_error_y": (0.56263, 0.20795, -0.26996, 0.23869, -1.9551e-3),
    }),
    "F": Case("simo_vu_quoc_1986", 5.0, {"joint1_torque": bang_bang(80.0, 1.5)}, 1e-3, wanted={
        "joint1_rate": (1.4149, 0.15742, 0.098396, 0.24201, -9.3831e-4),
        "link1_deflection": (0.29481, 0.13306, -0.20906, 0.21376, 4.2329e-3),
    }),
    "G": Case("spatial_3r", 0.6, both(50.0, -80.0, 0.25), 1e-4, wanted={
        "tip_error_z": (1.1936e-3, 5.2433e-4, -6.2376e-4, 6.7151e-4, -4.8839e-4),
        "shoulder_strain": (1.8109e-5, 1.6308e-5, 1.7828e-5, -1.7929e-5, 7.3143e-9),
        "shoulder_side_strain": (1.4633e-5, 1.0427e-5, -1.1154e-5, 1.0785e-5, 4.157e-7),
    }),
    "H": Case("li_zhang_three_link", 1.5, motions={f"joint{i}": Cosine(0, np.pi / 6, 0.4) for i in (1, 2, 3)}, wanted={
        "tip_error_y": (0.040336, 0.013047, -3.2328e-3, 0.011905, 9.8082e-3),
        "link3_deflection": (3.5902e-4, 2.2532e-4, -5.7797e-5, 2.8678e-4, 2.2776e-4),
        "joint1_torque": (1.1377, 0.73687, 0.15114, -0.95547, -0.77837),
    }),
    "I": Case("ralf", 3.0, {"joint1_command": Sine(2 * DEGREE, 0.5, 0.0, 2.0)}, wanted={
        "strain_lower": (2.6073e-4, 1.3695e-4, 9.3024e-5, 1.0305e-4, 7.3113e-5),
        "strain_upper": (3.3919e-5, 1.6888e-5, -7.2036e-6, 6.601e-6, -6.7482e-6),
    }),
    "J": Case("ralf", 3.0, {f"joint{i}_command": bang_bang(2 * DEGREE, 0.5) for i in (1, 2)}, wanted={
        "strain_lower": (4.9607e-3, 2.1705e-3, -4.4781e-4, -1.5279e-3, 3.5471e-3),
        "strain_upper": (3.6512e-3, 1.8269e-3, -2.9802e-3, 2.4605e-3, -1.6983e-3),
    }),
    "K": Case("planar_2r_flexible", 1.5, beta=1e-3, law=sampled_pd, wanted={
        "joint1_angle": (0.54943, 0.39967, 0.08124, 0.45044, 0.54023),
        "link1_deflection": (1.9441e-3, 1.0105e-3, -1.8263e-3, 7.5286e-4, 8.0303e-4),
        "root_strain": (5.6558e-5, 2.9283e-5, -5.487e-5, 2.7922e-5, 2.1556e-5),
    }),
    "L": Case("tian_ancf_circle", 0.8, _L, 3e-4, wanted={
        "link1_deflection": (1.4249e-4, 9.5748e-5, -1.2145e-4, 1.2064e-4, 1.1111e-7),
        "link2_deflection": (5.5311e-4, 1.4025e-4, -1.0487e-5, -2.0465e-4, 3.6485e-5),
    }),
}


def samples(run: fx.Response, name: str) -> np.ndarray:
    """Return an output, or the torque of a commanded joint, at the 1 ms samples."""
    t = np.arange(round(run.t[-1] / 1e-3) + 1) * 1e-3
    series = run[name]
    place = np.searchsorted(run.t, t - 1e-9)
    assert np.allclose(run.t[place], t, atol=1e-9)
    return series[place]


def numbers(y: np.ndarray) -> np.ndarray:
    """Return what the page states of a series: peak, rms, values at 0.2, 0.5 and 0.9 of the run."""
    last = y.size - 1
    at = [y[round(part * last)] for part in (0.2, 0.5, 0.9)]
    return np.array([np.abs(y).max(), np.sqrt(np.mean(y**2)), *at])


@cache
def reference_run(name: str, step: float, method: str = "settled") -> fx.Response:
    """Return a case in small steps of a second method; heavy."""
    return CASES[name].run(step=step, method=method)
