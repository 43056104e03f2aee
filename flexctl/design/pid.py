"""PID shaped on the plant: bandwidth and phase margin in, gains out.

    C(s) = kp + ki / s + kd s / (tf s + 1),     C(j wc) P(j wc) e^(-j wc delay) = -e^(j PM)

Two real equations for kp and kd, linear once tf = 1 / (spread wc) and ki = wc kp / reset are chosen. A flexible plant
may well make the result unstable at another mode: the loop is then refused, with what its poles say, on the full plant,
sampled and delayed as it will run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from ..errors import DefinitionError, require
from ..laws.controller import Delayed
from ..linear import FirstOrder
from ..linear.conversion import discretise
from ..linear.decay import UNSTABLE
from ..machine.given import LinearGiven, as_second_order
from ..model import FloatArray, Signal, index_of
from ..support.checks import positive
from .design import Design
from .design_model import Names, design_model


@dataclass(frozen=True)
class PidGains:
    """Gains of a PID: kp, ki [1/s], kd [s] in input per measured unit, and the time constant of the rate filter [s].

    Examples
    --------
    >>> fx.PidGains(kp=6.8, ki=0.0, kd=0.034, filter_time=1e-3).kd
    0.034
    """

    kp: float
    ki: float
    kd: float
    filter_time: float

    def controller(self, measure: str, drive: str) -> FirstOrder:
        """Return C(s) from the error to the command."""
        A = np.array([[-1.0 / self.filter_time, 0.0], [0.0, 0.0]])
        B = np.array([[1.0 / self.filter_time], [1.0]])
        C = np.array([[-self.kd / self.filter_time, self.ki]])
        D = np.array([[self.kp + self.kd / self.filter_time]])
        keep = [0, 1] if self.ki else [0]
        states = tuple(Signal(name) for name in np.array(["filter", "integral"])[keep])
        at = np.ix_(keep, keep)
        return FirstOrder(A[at], B[keep], C[:, keep], D, states, (Signal(measure),), (Signal(drive),))


def pid_gains(
    plant: LinearGiven, *, crossover: float, phase_margin_deg: float, measure: str, drive: str, delay: float = 0.0,
    spread: float = 10.0, reset: float | None = None,
) -> PidGains:
    """Return the gains that put the gain crossover at a frequency with a phase margin.

    Parameters
    ----------
    plant : SecondOrder
        Linear plant.
    crossover : float
        wc [rad/s].
    phase_margin_deg : float
        PM [deg].
    measure, drive : str
        Plant output and input.
    delay : float
        Dead time of the loop [s], computation and hold together.
    spread : float
        The rate filter's corner over wc.
    reset : float, optional
        wc over the corner of the integral; no integral by default.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994").linearise()
    >>> gains = fx.pid_gains(plant, crossover=5.0, phase_margin_deg=50.0, measure="joint1_angle", drive="joint1_torque")
    >>> print(f"{gains.kp:.3f} N m/rad")
    0.763 N m/rad
    """
    plant = as_second_order(plant)
    at = index_of("output", measure, plant.outputs), index_of("input", drive, plant.inputs)
    P = complex(plant.transfer(np.array([1j * crossover]))[at][0])
    return _gains(P, crossover, phase_margin_deg, delay, spread, reset)


def _gains(
    response: complex, crossover: float, phase_margin_deg: float, delay: float, spread: float, reset: float | None
) -> PidGains:
    """Return the gains for a plant with this response at the crossover; see `pid_gains`."""
    require(crossover > 0, f"crossover = {crossover} rad/s must be positive")
    require(0 < phase_margin_deg < 90, f"phase_margin_deg = {phase_margin_deg} must lie between 0 and 90")
    require(delay >= 0 and spread > 0, f"delay = {delay} s must not be negative, spread = {spread} must be positive")
    require(reset is None or reset > 0, f"reset = {reset} must be positive")
    s = 1j * crossover
    P = response * np.exp(-s * delay)
    wanted = -np.exp(1j * np.radians(phase_margin_deg)) / P
    tf = 1.0 / (spread * crossover)
    columns = np.array([1.0 + (crossover / (reset * s) if reset else 0.0), s / (tf * s + 1.0)])
    kp, kd = np.linalg.solve(np.vstack([columns.real, columns.imag]), [wanted.real, wanted.imag])
    if not (kp > 0 and kd > 0):
        alone = (np.degrees(np.angle(P)) + 360.0) % 360.0 - 180.0  # phase margin of a gain without lead
        least, most = (alone + np.degrees(np.angle(column)) for column in columns)
        raise DefinitionError(
            f"no PD reaches {phase_margin_deg:g} deg at {crossover:g} rad/s with positive gains (kp = {kp:.4g}, "
            f"kd = {kd:.4g}): the plant with its delay has phase {np.degrees(np.angle(P)):.4g} deg there, where "
            f"PDs reach {least:.3g} to {most:.3g} deg; {_remedy(phase_margin_deg, least, most)}"
        )
    return PidGains(float(kp), float(kp * crossover / reset) if reset else 0.0, float(kd), tf)


def _remedy(wanted: float, least: float, most: float) -> str:
    """Return what to change where a PD reaches phase margins from `least` to `most` [deg] only."""
    if most <= 1.0 or least >= 88.0:
        return "choose another crossover"
    if wanted < least:
        return f"ask for {np.ceil(least) + 1.0:.3g} deg or more, or for a crossover at which the plant lags more"
    return f"ask for {np.floor(most) - 1.0:.3g} deg or less, or for a lower crossover, or sample faster"


def pid(
    plant: LinearGiven, *, crossover: float, phase_margin_deg: float, sample_time: float, measure: Names, drive: Names,
    follow: Names, limit: float = np.inf, spread: float = 10.0, reset: float | None = None,
) -> Design:
    """Return the sampled law with feedforward of the rigid arm and one sample of delay, stable on the full plant.

    Several joints are uncoupled by the inertia of the rigid arm, u = -J diag(C_i) y, and each C_i is shaped on what the
    plant then is from its own command to its own measurement. On inputs and outputs of the same joints such a law takes
    energy out of every mode, but for delay and filters.

    Parameters
    ----------
    plant : SecondOrder
        Linear plant with as many rigid-body modes as there are inputs, measured and followed outputs.
    crossover, phase_margin_deg, spread, reset
        As for `pid_gains`, the same for all joints.
    sample_time : float
        Control period [s].
    measure, drive, follow : str or tuple of str
        Measured outputs, the inputs that move them, in the same order, and followed references.
    limit : float
        Largest input.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994", overrides={"damping.kind": "modal", "damping.ratio": 0.01}).linearise()
    >>> law = fx.pid(
    ...     plant, crossover=2.0, phase_margin_deg=50.0, sample_time=1e-3,
    ...     measure="joint1_angle", drive="joint1_torque", follow="joint1_angle",
    ... )
    >>> law.stable
    True
    """
    plant = as_second_order(plant)
    positive("sample_time", sample_time, "s")
    model = design_model(plant, 1, measure, drive, follow)
    k = len(model.drives)
    require(len(model.measures) == k, f"{k} inputs and {len(model.measures)} measured outputs: one for each is needed")
    rows = [index_of("output", name, plant.outputs) for name in model.measures]
    columns = [index_of("input", name, plant.inputs) for name in model.drives]
    response = plant.transfer(np.array([1j * crossover]))[np.ix_(rows, columns)][:, :, 0]
    J = model.inertia @ np.linalg.inv(model.gain)  # as the measured outputs see it
    found = [
        _gains(x, crossover, phase_margin_deg, 1.5 * sample_time, spread, reset) for x in np.diag(response @ J)
    ]
    parts = [
        discretise(g.controller(y, u), sample_time)
        for g, y, u in zip(found, model.measures, model.drives, strict=True)
    ]
    A, B, C, D = (sla.block_diag(*(getattr(part, key) for part in parts)) for key in "ABCD")
    states = tuple(Signal(s.name if k == 1 else f"{s.name}{i + 1}") for i, p in enumerate(parts) for s in p.states)
    measured, commands = (tuple(Signal(name) for name in names) for names in (model.measures, model.drives))
    K = FirstOrder(A, -B, J @ C, -J @ D, states, measured, commands, sample_time)
    law = Delayed(model.law(K, limit), 1)
    assumed = {"design": "PID", "crossover": crossover, "phase_margin_deg": phase_margin_deg, "spread": spread}
    result = Design(law, plant, {**assumed, "sample_time": sample_time, "delay": 1, "limit": limit}, _told(found, J))
    if result.state == UNSTABLE:
        worst = result.poles[0]
        raise DefinitionError(
            f"crossover {crossover:g} rad/s with {phase_margin_deg:g} deg is unstable on the full plant: a mode at "
            f"{abs(worst.imag):.4g} rad/s grows by {worst.real:.3g} 1/s; "
            "lower the crossover or spread, or sample faster"
        )
    return result


def _told(found: list[PidGains], J: FloatArray) -> dict[str, float]:
    """Return the gains of each joint by itself, in input per measured unit."""
    numbers = {}
    for i, g in enumerate(found):
        end = "" if len(found) == 1 else str(i + 1)
        for key, value in (("kp", g.kp), ("ki", g.ki), ("kd", g.kd)):
            numbers[key + end] = float(J[i, i] * value)
        numbers["filter_time"] = g.filter_time
    return numbers
