"""The discrete-time transfer matrix method of the paper, on the chain of `finite_segment`; joints commanded.

    z_O = U z_I,   z = (x, y, theta, M, q_x, q_y, 1)
    z_tip = U_bN U_sN .. U_b1 U_joint z_base,   z_base = (0, 0, 0, M, q_x, q_y, 1),   z_tip = (x, y, theta, 0, 0, 0, 1)

Newmark's formulas turn the accelerations of x, y, theta and of the centre of mass into A r + B (Table I), sine and
cosine are expanded about the last angles (6), and every step is one linear chain of 7 x 7 matrices. Forces act as +q_I
and -q_O on a segment, moments with the opposite sign, -M_I and +M_O; a spring has theta_O = theta_I + M / K.

"lagged" is the paper: one pass, the levers of the forces at the last angles. It is of first order, for gamma = 1/2
too, where "newton", which expands about the predicted angle and iterates, is of second. "product" multiplies the chain
as printed; its entries grow as exp(growth), with growth about the integral of (rho A / (4 E I beta dt^2))^(1/4) ds
whatever the number of segments (an estimate that may be too high or too low), so that small steps drown it in rounding.
"riccati" carries f = S d + T, f = (M, q_x, q_y), d = (x, y, theta), from the tip inwards instead, and has no such
limit. Either serves as a check of `simulate`, which is three to ten times faster, takes torques and servo joints too,
and does not lose digits of A r with A = 1 / (beta dt^2).

Source: H. Li, X. Zhang, "A method for modeling flexible manipulators: transfer matrix method with finite segments".
Misprints: u44 = 1 is missing in (9), so that row 4 has six entries; x'', y'' in (7) are those of the inboard end; (13)
has no root spring; eq. (1), the springs, is lost (`finite_segment.mesh`); z with two dots in (16) is z; (17) must end
at pi/6, where its first half does, not at pi/12; Table II must have E = 69e9 for the 6.10 Hz quoted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...abilities import kind_of, within
from ...errors import ConvergenceError, DefinitionError, NotAvailable, require, unknown
from ...machine.given import as_model
from ...model import FloatArray
from ...support.kinds import SystemGiven
from . import FiniteSegment

METHODS = ("lagged", "newton")
FORMS = ("riccati", "product")
LIMIT = 22.0
"""Growth at which rounding reaches 1e-6 of the result: log(1e-6 / 2.2e-16)."""


@dataclass(frozen=True, eq=False)
class TransferRun:
    """The motion found with the transfer matrices.

    Attributes
    ----------
    t : ndarray
        Times [s].
    theta : ndarray
        Angles of all bodies [rad], (times, bodies).
    tip, tip_error : ndarray
        Tip, and tip minus tip of the rigid arm with the same joint angles [m], (times, 2).
    """

    t: FloatArray
    theta: FloatArray
    tip: FloatArray
    tip_error: FloatArray

    def __repr__(self) -> str:
        return f"TransferRun({self.t.size} points to {self.t[-1]:g} s, {self.theta.shape[1]} bodies)"


def growth(model: FiniteSegment, step: float, beta: float) -> float:
    """Return about the exponent at which the product of transfer matrices grows along the chain."""
    middles = (np.arange(200) + 0.5) / 200
    total = 0.0
    for link in model.arm.links:
        sections = [link.section_at(float(s)) for s in middles]
        ratio = np.array([x.area / x.second_moment for x in sections])
        density = link.material.density / (4.0 * link.material.youngs_modulus * beta * step**2)
        total += link.length * float(np.mean((density * ratio) ** 0.25))
    return total


def _segments(model: Any) -> FiniteSegment:
    """Return the chain of segments within a plant, or within a model whose joints are driven by motion."""
    found = within(as_model(model))
    if not isinstance(found, FiniteSegment):
        raise DefinitionError(f"transfer matrices of segments need a finite_segment model; {kind_of(found)} was given")
    return found


def transfer_matrix_run(
    model: SystemGiven, motions: Mapping[str, Any], *, duration: float, step: float = 1e-3, beta: float = 0.25,
    gamma: float = 0.5, method: str = "lagged", form: str = "riccati",
) -> TransferRun:
    """Run commanded joints by the discrete-time transfer matrix method.

    Parameters
    ----------
    model : FiniteSegment
        The arm; every joint is commanded. A plant of this kind, or one whose joints are driven by motion, will do.
    motions : mapping
        Motion of each joint, by name ("joint1", ..).
    duration, step : float
        Length of the run and of a step [s].
    beta, gamma : float
        Newmark's parameters; gamma above 1/2 dissipates, at first order.
    method : str
        "lagged" (one pass, the paper) or "newton".
    form : str
        "riccati" or "product".

    Raises
    ------
    DefinitionError
        When the product form is asked for at a step that it cannot handle.
    ConvergenceError
        When the run diverges.

    Examples
    --------
    >>> arm = fx.load_plant("planar_2r_flexible").arm
    >>> moves = {"joint1": fx.Cycloid(0.0, 1.0, 0.5), "joint2": fx.Cycloid(0.0, 1.0, 0.5)}
    >>> run = fx.transfer_matrix_run(fx.FiniteSegment(arm, segments=5), moves, duration=0.01)
    >>> run.tip.shape
    (11, 2)
    """
    from . import transfer_kernel as kernels

    model = _segments(model)
    _check(model, motions, duration, step, beta, gamma, method, form)
    count = int(np.ceil(duration / step - 1e-9))
    t = np.asarray(step * np.arange(count + 1), float)
    names = [f"joint{i + 1}" for i in range(len(model.arm.joints))]
    command = np.ascontiguousarray(np.array([np.asarray(motions[name](t)[0], float) for name in names]).T)
    r, v, a = _start(model, [motions[name] for name in names])
    chain = model.chain
    bodies = np.column_stack([chain.length, chain.centre, chain.mass, chain.inertia + chain.mass * chain.centre**2])
    joint_of = np.full(chain.length.size, -1, np.int64)
    joint_of[chain.joint] = np.arange(chain.joint.size)
    theta, tips = np.zeros((count + 1, joint_of.size)), np.zeros((count + 1, 2))
    theta[0], tips[0] = r[2], (chain.length @ np.cos(r[2]), chain.length @ np.sin(r[2]))
    gx, gy = (float(g) for g in model.gravity)
    settings = kernels.Settings(float(step), float(beta), float(gamma), model.alpha, gx, gy, 1e-11, 20.0)
    hinges = np.column_stack([chain.stiffness, model.damper])
    status, at, size = kernels.run(
        settings, int(form == "riccati"), int(method == "newton"),
        kernels.Chain(np.ascontiguousarray(bodies), hinges, joint_of), command, kernels.State(r, v, a), theta, tips,
    )
    if status != kernels.DONE:
        what = "Newton did not converge" if status == kernels.NOT_CONVERGED else "the run diverged"
        message = f"{what} at t = {at * step:.6g} s (last change of angle {size:.3g} rad); use a smaller step"
        raise ConvergenceError(message, time=at * step, residual=size)
    return TransferRun(t, theta, tips, tips - model.rigid_tip(command))


def _start(model: FiniteSegment, motions: list[Any]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rows x, y, theta, xC, yC of all bodies at rest or on their way, with consistent accelerations."""
    began = np.array([[float(x) for x in motion(0.0)] for motion in motions])
    q, v = model.start({f"joint{i + 1}": row[:2] for i, row in enumerate(began)})
    joint, a = model.chain.joint, np.zeros(q.size)
    a[joint] = began[:, 2]
    free = np.ones(q.size, bool)
    free[joint] = False
    M = model.mass(q)
    a[free] = np.linalg.solve(M[np.ix_(free, free)], -(model.force(q, v) + M[:, joint] @ a[joint])[free])
    theta, w, acc = model.angles(q), model.angles(v), model.angles(a)
    R, T = np.array([np.cos(theta), np.sin(theta)]), np.array([-np.sin(theta), np.cos(theta)])
    found = []
    for turn, change in ((theta, R), (w, T * w), (acc, T * acc - R * w**2)):
        steps = model.chain.length * change
        inboard = np.cumsum(steps, axis=1) - steps
        found.append(np.ascontiguousarray([*inboard, turn, *(inboard + model.chain.centre * change)]))
    return found[0], found[1], found[2]


def _check(
    model: FiniteSegment, motions: Mapping[str, Any], duration: float, step: float, beta: float, gamma: float,
    method: str, form: str,
) -> None:
    for what, word, known in (("method", method, METHODS), ("form", form, FORMS)):
        if word not in known:
            raise unknown(what, word, known)
    stable = gamma >= 0.5 and 2.0 * beta >= gamma
    require(stable, f"beta = {beta}, gamma = {gamma} is unstable: 2 beta >= gamma >= 1/2 is needed")
    for what, seconds in (("step", step), ("duration", duration)):
        require(bool(np.isfinite(seconds) and seconds > 0), f"{what} = {seconds} s must be positive and finite")
    for name in motions:
        if name not in model.joints.values():
            raise unknown("commanded joint", name, model.joints.values())
    if model.C.size or model.friction.any():
        raise NotAvailable("the transfer matrices have no modal damping and no joint friction; use simulate")
    for i, joint in enumerate(model.arm.joints, 1):
        if joint.drive == "servo" or f"joint{i}" not in motions:
            message = f"joint{i} is not commanded; give it a motion (drive not servo), or use simulate"
            raise NotAvailable(message)
    exponent = growth(model, step, beta)
    if form == "product" and exponent > LIMIT:
        least = step * (exponent / LIMIT) ** 2
        raise DefinitionError(
            f"step = {step:g} s lets the product of transfer matrices grow by exp({exponent:.1f}), beyond exp({LIMIT}) "
            f'where rounding spoils it; use a step above {least:.3g} s, or form = "riccati"'
        )
