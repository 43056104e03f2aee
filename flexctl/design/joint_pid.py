"""A PID for every joint of an arm, each from a bandwidth and a phase margin; torques of the rigid arm fed forward.

    u_i = C_i(s) (r_i - y_i) + tau_i(t),     C_i(j wc) P_i(j wc) e^(-j wc delay) = -e^(j PM)

P_i is the plant from the joint's own drive to its own angle (or extension) with the other joints held: what its drive
feels while the others do their work. `flexctl.design.pid` says how the gains follow. tau is the inverse dynamics of the
straight links, weight included (`flexctl.laws.rigid_reference`), of motors as their voltage or current; without it
every joint lags and sags. The loops see each other through the arm: whether all of them together are stable is checked
on the whole plant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg as sla

from ..errors import DefinitionError, require
from ..laws.controller import Delayed, LinearLaw
from ..laws.rigid_reference import fed_forward
from ..linear import SecondOrder
from ..linear.conversion import discretise
from ..linear.decay import UNSTABLE
from ..linear.steady import lock
from ..machine.given import LinearGiven, as_second_order
from ..model import names
from ..support.checks import each, positive
from .design import Design
from .pid import PidGains, pid_gains


def joint_pids(
    plant: LinearGiven, *, crossover: float | Sequence[float], phase_margin_deg: float, sample_time: float,
    spread: float = 10.0, reset: float | None = None, limit: npt.ArrayLike = np.inf,
) -> Design:
    """Return the sampled law of all joints, with one sample of delay, stable on the whole plant.

    Parameters
    ----------
    plant : SecondOrder
        Linear plant of a serial arm whose joints are driven by torque, force, voltage or current, at rest in a pose.
    crossover : float or sequence of float
        wc [rad/s], of all joints or one each.
    phase_margin_deg : float
        PM of every joint with the others held [deg].
    sample_time : float
        Control period [s].
    spread, reset : float, optional
        As for `flexctl.design.pid.pid_gains`: corner of the rate filter over wc; wc over the corner of the integral.
    limit : float or sequence of float
        Largest torque, force, voltage or current of all joints, or one each.

    Examples
    --------
    >>> arm = fx.load_plant("planar_2r_flexible", damping={"kind": "modal", "ratio": 0.01})
    >>> fx.joint_pids(arm.linearise(), crossover=3.0, phase_margin_deg=50.0, sample_time=1e-3).drives
    ('joint1_torque', 'joint2_torque')
    """
    plant = as_second_order(plant)
    positive("sample_time", sample_time, "s")
    loops = _joints(plant)
    wc = each("crossover", crossover, len(loops), "positive")
    found: dict[str, PidGains] = {}
    for (joint, measure, drive), w in zip(loops, wc, strict=True):
        alone = lock(plant, [other for other, _, _ in loops if other != joint])
        found[joint] = pid_gains(
            alone, crossover=float(w), phase_margin_deg=phase_margin_deg, measure=measure, drive=drive,
            delay=1.5 * sample_time, spread=spread, reset=reset,
        )
    law = Delayed(fed_forward(_law(loops, found, sample_time)), 1)
    bound = each("limit", limit, len(loops))
    law = Delayed(law.law.limited(-bound, bound), 1)
    assumed: dict[str, Any] = {"design": "PID of every joint", "crossover": wc.tolist(), "spread": spread}
    assumed |= {"phase_margin_deg": phase_margin_deg, "reset": reset, "sample_time": sample_time, "delay": 1}
    numbers = {f"{joint}_{key}": getattr(g, key) for joint, g in found.items() for key in ("kp", "ki", "kd")}
    design = Design(law, plant, {**assumed, "limit": bound.tolist()}, numbers)
    if design.state == UNSTABLE:
        worst = design.poles[0]
        raise DefinitionError(
            f"crossovers {wc.tolist()} rad/s with {phase_margin_deg:g} deg are unstable together: a mode at "
            f"{abs(worst.imag):.4g} rad/s grows by {worst.real:.3g} 1/s; lower the crossovers, or sample faster"
        )
    return design


def _joints(plant: SecondOrder) -> list[tuple[str, str, str]]:
    """Return coordinate, measured output and input of every joint."""
    outputs, inputs = names(plant.outputs), names(plant.inputs)
    found = []
    for joint in (name for name in names(plant.coordinates) if name.removeprefix("joint").isdigit()):
        known = [(f"{joint}_angle", f"{joint}_{kind}") for kind in ("torque", "voltage", "current")]
        known.append((f"{joint}_extension", f"{joint}_force"))
        pairs = [(measure, drive) for measure, drive in known if measure in outputs and drive in inputs]
        remedy = f'joint.{joint.removeprefix("joint")}.drive = "torque" makes it so; cylinders have servos (laws.valve)'
        told = "is not driven by a torque, a force or a motor, or its position is not measured"
        require(bool(pairs), f"{joint} {told}; {remedy}")
        found.append((joint, *pairs[0]))
    require(bool(found), f"the plant has no joints among its coordinates {names(plant.coordinates)[:4]} ..")
    return found


def _law(loops: list[tuple[str, str, str]], found: dict[str, PidGains], sample_time: float) -> LinearLaw:
    """Return the law from joint errors to commands, all joints side by side."""
    parts = [discretise(found[joint].controller(measure, drive), sample_time) for joint, measure, drive in loops]
    B, D = (sla.block_diag(*(getattr(part, key) for part in parts)) for key in ("B", "D"))
    value = [[1.0, 0.0, 0.0]]
    measures, drives = tuple(m for _, m, _ in loops), tuple(d for _, _, d in loops)
    return LinearLaw(
        sample_time, measures, drives, measures, A=sla.block_diag(*(part.A for part in parts)), By=-B,
        Br=np.kron(B, value), C=sla.block_diag(*(part.C for part in parts)), Dy=-D, Dr=np.kron(D, value),
    )
