"""Sampled plants: exact zero-order hold, delays, and the discrete system a time-stepping scheme really is.

    x[k+1] = Phi x[k] + Gamma u[k],   Phi = exp(A dt),   Gamma = int_0^dt exp(A s) ds B

States that do not influence each other (one mode's pair, say) are discretised block by block; a double integrator
comes out as [1 dt; 0 1], [dt^2/2; dt] without rounding. An eigenvector form would fail there: A is defective.
Conversions of controllers are in `flexctl.linear.conversion`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.linalg as sla

from ..errors import DefinitionError, require
from ..kernels.schemes import Scheme
from ..machine.given import LinearGiven, as_first_order, as_linear, as_second_order
from ..model import FloatArray, Signal
from . import FirstOrder, SecondOrder

# Up to this norm of A dt the exponential is taken by Pade approximation; beyond, 2 x 2 blocks have a closed form.
_CLOSED_FORM = 1.0


def zero_order_hold(plant: LinearGiven, dt: float, delay: float = 0.0) -> FirstOrder:
    """Return the plant sampled every dt, its inputs held constant in between: exact at the samples.

    Parameters
    ----------
    plant : FirstOrder or SecondOrder
        Continuous plant; a second-order one is taken in modal coordinates.
    dt : float
        Sample time [s].
    delay : float
        Dead time of all inputs [s], not necessarily a whole number of samples; it adds states that hold the inputs on
        their way, named after them ("torque_delay1" is the one given last).

    Examples
    --------
    >>> sampled = fx.zero_order_hold(fx.load_plant("tokhi_azad_1994").linearise(), 1e-3, delay=1e-3)
    >>> sampled.dt
    0.001
    """
    plant = as_linear(plant)
    if isinstance(plant, SecondOrder):
        plant = plant.first_order()
    _check_times(plant, dt, delay)
    whole, fraction = _split_delay(delay, dt)
    note = _note(plant, "zero-order hold", dt, delay)
    if fraction == 0.0:
        Phi, Gamma = exact_pair(plant.A, dt)
        sampled = replace(plant, A=Phi, B=Gamma @ plant.B, dt=float(dt), provenance=note)
        return delay_inputs(sampled, whole)
    # the older of two inputs acts for the first fraction of the period, the newer for the rest
    Phi1, Gamma1 = exact_pair(plant.A, fraction * dt)
    Phi2, Gamma2 = exact_pair(plant.A, (1.0 - fraction) * dt)
    p, n = len(plant.inputs), len(plant.states)
    A = np.block([[Phi2 @ Phi1, Phi2 @ Gamma1 @ plant.B], [np.zeros((p, n + p))]])
    B = np.vstack([Gamma2 @ plant.B, np.eye(p)])
    sampled = replace(
        plant, A=A, B=B, C=np.hstack([plant.C, plant.D]), D=np.zeros_like(plant.D), dt=float(dt),
        states=(*plant.states, *_waiting(plant.inputs, whole + 1)), provenance=note,
    )
    return delay_inputs(sampled, whole)


def _check_times(plant: FirstOrder, dt: float, delay: float) -> None:
    require(plant.dt == 0, f"the plant is already sampled, dt = {plant.dt:g} s")
    require(math.isfinite(dt) and dt > 0, f"sample time dt = {dt} s must be positive and finite")
    require(math.isfinite(delay) and delay >= 0, f"delay = {delay} s must be zero or positive")


def _split_delay(delay: float, dt: float) -> tuple[int, float]:
    """Return whole samples and the remaining fraction of one."""
    whole = math.floor(delay / dt + 1e-9)
    fraction = delay / dt - whole
    return whole, fraction if fraction > 1e-9 else 0.0


def _waiting(signals: tuple[Signal, ...], number: int) -> list[Signal]:
    return [Signal(f"{s.name}_delay{number}", s.unit, s.description) for s in signals]


def _note(plant: FirstOrder, method: str, dt: float, delay: float = 0.0) -> dict[str, object]:
    return {**plant.provenance, "discretisation": method, "sample_time": float(dt), "delay": float(delay)}


def delay_inputs(plant: LinearGiven, samples: int) -> FirstOrder:
    """Return the sampled plant with its inputs `samples` periods late; the added states are `<input>_delay1`, ..."""
    plant = as_first_order(plant)
    for number in range(samples, 0, -1):
        _check_sampled(plant, samples)
        p, n = len(plant.inputs), len(plant.states)
        A = np.block([[plant.A, plant.B], [np.zeros((p, n + p))]])
        B, C = np.vstack([np.zeros((n, p)), np.eye(p)]), np.hstack([plant.C, plant.D])
        states = (*plant.states, *_waiting(plant.inputs, number))
        plant = replace(plant, A=A, B=B, C=C, D=np.zeros_like(plant.D), states=states)
    return plant


def delay_outputs(plant: LinearGiven, samples: int) -> FirstOrder:
    """Return the sampled plant with its outputs `samples` periods late; the added states are `<output>_delay1`, ..."""
    plant = as_first_order(plant)
    for number in range(1, samples + 1):
        _check_sampled(plant, samples)
        ny, n, p = len(plant.outputs), len(plant.states), len(plant.inputs)
        A = np.block([[plant.A, np.zeros((n, ny))], [plant.C, np.zeros((ny, ny))]])
        B, C = np.vstack([plant.B, plant.D]), np.hstack([np.zeros((ny, n)), np.eye(ny)])
        states = (*plant.states, *_waiting(plant.outputs, number))
        plant = replace(plant, A=A, B=B, C=C, D=np.zeros((ny, p)), states=states)
    return plant


def _check_sampled(plant: FirstOrder, samples: int) -> None:
    require(plant.dt > 0, f"a continuous plant cannot be delayed by {samples} samples; discretise it first")


def exact_pair(A: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
    """Return exp(A dt) and its integral from 0 to dt, computed for each independent group of states by itself."""
    n = A.shape[0]
    Phi, Gamma = np.zeros((n, n)), np.zeros((n, n))
    for group in groups(A):
        index = np.ix_(group, group)
        Phi[index], Gamma[index] = _exact_block(A[index], dt)
    return Phi, Gamma


def groups(A: FloatArray) -> list[npt.NDArray[np.intp]]:
    """Return the groups of states that do not influence each other, ascending inside."""
    from scipy.sparse.csgraph import connected_components

    if A.shape[0] == 0:
        return []
    count, label = connected_components(A != 0.0, directed=False)
    order = np.argsort(label, kind="stable")
    return np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1])


def _exact_block(A: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
    n = A.shape[0]
    if not (A @ A).any():  # a double integrator: the series ends, and nothing is rounded away
        return np.eye(n) + dt * A, dt * np.eye(n) + 0.5 * dt * dt * A
    if n == 2 and np.abs(A).max() * dt > _CLOSED_FORM:
        return _oscillator(A, dt)
    Z = sla.expm(np.block([[A * dt, dt * np.eye(n)], [np.zeros((n, 2 * n))]]))
    Phi, Gamma = Z[:n, :n], Z[:n, n:]
    _restore_integrators(A, dt, Phi, Gamma)
    return Phi, Gamma


def _oscillator(A: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
    """Return the pair of a 2 x 2 block by exp(A t) = e^(m t) (cosh(r t) I + sinh(r t)/r (A - m I)), m = tr A / 2."""
    m = 0.5 * float(A[0, 0] + A[1, 1])
    determinant = float(A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0])
    r = np.sqrt(complex(m * m - determinant))
    if abs(determinant) < 1e-8 * np.abs(A).max() ** 2 or abs(r) * dt < 1e-6:  # near an integrator or a double pole
        Z = sla.expm(np.block([[A * dt, dt * np.eye(2)], [np.zeros((2, 4))]]))
        return Z[:2, :2], Z[:2, 2:]
    # e^(m t) inside: cosh alone overflows for a strongly damped mode
    plus, minus = np.exp((m + r) * dt), np.exp((m - r) * dt)
    even, odd = 0.5 * (plus + minus).real, (0.5 * (plus - minus) / r).real
    I = np.eye(2)
    Phi = even * I + odd * (A - m * I)
    return Phi, np.linalg.solve(A, Phi - I)


def _restore_integrators(A: FloatArray, dt: float, Phi: FloatArray, Gamma: FloatArray) -> None:
    """Write the columns of states that only integrate (rigid modes, coupled or not) without rounding, in place."""
    I = np.eye(A.shape[0])
    still = ~A.any(axis=0)
    ramp = ~still & ~A[~still].any(axis=0)
    for columns in (still, ramp):
        Phi[:, columns] = I[:, columns] + dt * A[:, columns]
        Gamma[:, columns] = dt * I[:, columns] + 0.5 * dt * dt * A[:, columns]


def scheme_plant(plant: LinearGiven, dt: float, scheme: Scheme, substeps: int = 1) -> FirstOrder:
    """Return the discrete system that a time-stepping scheme makes of a linear plant under a zero-order hold.

    The inputs jump at the samples, where the accelerations are recomputed, and stay constant in between; `simulate`
    with this scheme and step dt / substeps gives these samples to rounding. The states are the coordinates and rates;
    generalised-alpha adds the difference between its shifted and the true accelerations, which jumps do not change.
    """
    plant = as_second_order(plant)
    require(math.isfinite(dt) and dt > 0, f"sample time dt = {dt} s must be positive and finite")
    require(substeps >= 1, f"substeps = {substeps} must be at least 1")
    n, p = plant.B.shape
    try:
        step, read = _scheme_step(plant, dt / substeps, scheme)
    except np.linalg.LinAlgError as error:
        raise DefinitionError(
            "the mass matrix is singular; flexctl.linear.descriptor.regular(plant) removes massless coordinates"
        ) from error
    whole = np.linalg.matrix_power(np.block([[step], [np.zeros((p, 3 * n)), np.eye(p)]]), substeps)
    kept = slice(None, 3 * n if scheme.alpha_m or scheme.alpha_f else 2 * n)
    A, B = whole[: 3 * n, : 3 * n][kept, kept], whole[: 3 * n, 3 * n :][kept]
    C = plant.Ca @ read[:, : 3 * n] + np.hstack([plant.Cq, plant.Cv, np.zeros_like(plant.Cq)])
    q = plant.coordinates
    rates, shifts = (
        (Signal(f"{c.name}_rate", f"{c.unit}/s") for c in q),
        (Signal(f"{c.name}_shift", f"{c.unit}/s^2") for c in q),
    )
    states = (*q, *rates, *shifts)[kept]
    provenance = {
        **plant.provenance, "discretisation": "scheme", "sample_time": float(dt), "substeps": substeps,
        "scheme": {k: float(getattr(scheme, k)) for k in ("alpha_m", "alpha_f", "beta", "gamma")},
    }
    D = plant.Du + plant.Ca @ read[:, 3 * n :]
    return FirstOrder(A, B, C[:, kept], D, states, plant.inputs, plant.outputs, float(dt), provenance)


def _scheme_step(plant: SecondOrder, h: float, scheme: Scheme) -> tuple[FloatArray, FloatArray]:
    """Return the rows (q, v, d)+ and the acceleration as functions of (q, v, d, u); d = a~ - a."""
    n, p = plant.B.shape
    q, v, d, u = np.split(np.eye(3 * n + p), [n, 2 * n, 3 * n])
    am, af, beta, gamma = scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma
    a: FloatArray = np.asarray(np.linalg.solve(plant.M, plant.B @ u - plant.D @ v - plant.K @ q), float)
    old = a + d
    # a~+ = known + part a+; M a+ + D v+ + K q+ = B u with q+, v+ linear in a~+
    part = (1.0 - af) / (1.0 - am)
    known = (af * a - am * old) / (1.0 - am)
    q_known = q + h * v + h * h * ((0.5 - beta) * old + beta * known)
    v_known = v + h * ((1.0 - gamma) * old + gamma * known)
    left = plant.M + part * (h * gamma * plant.D + h * h * beta * plant.K)
    a_new = np.linalg.solve(left, plant.B @ u - plant.D @ v_known - plant.K @ q_known)
    q_new, v_new = q_known + h * h * beta * part * a_new, v_known + h * gamma * part * a_new
    return np.vstack([q_new, v_new, known + part * a_new - a_new]), a


def newmark_plant(
    plant: LinearGiven, dt: float, beta: float = 0.25, gamma: float = 0.5, substeps: int = 1
) -> FirstOrder:
    """Return the discrete system of Newmark's scheme (beta = 0: central differences); see `scheme_plant`."""
    plant = as_second_order(plant)
    return scheme_plant(plant, dt, Scheme(0.0, 0.0, beta, gamma), substeps)
