"""Strain feedback through a second-order filter: positive position feedback and its relatives.

    u = g P(s) (kappa - kappa_ref),     P = w^2 / (s^2 + 2 zeta w s + w^2)

kappa is the curvature (or strain) near the root, kappa_ref what it reads when the arm bends quasi-statically under the
feedforward J r''. With w near a mode and g of the right sign the filter takes energy out of the mode (positive position
feedback: Goh and Caughey 1985, Fanson and Caughey 1990); with w far above it is direct strain feedback. An integral
resonant control (Aphale, Fleming and Moheimani 2007) is the same with a real pole, `order = 1`.

It is added to a joint law with `combine.together`.
"""

from __future__ import annotations

import numpy as np

from ..errors import require
from ..laws.controller import LinearLaw
from ..linear import FirstOrder
from ..linear.conversion import discretise
from ..machine.given import LinearGiven, as_second_order
from ..model import Signal
from .design_model import design_model


def strain_feedback(
    plant: LinearGiven, *, gain: float, frequency: float, damping: float, sample_time: float, measure: str,
    drive: str = "joint1_torque", follow: str = "chord1_angle", order: int = 2, quasi_static: bool = True,
) -> LinearLaw:
    """Return the sampled law, without the feedforward of the rigid arm.

    Parameters
    ----------
    plant : SecondOrder
        Linear plant with one rigid-body mode: where kappa_ref comes from.
    gain : float
        g: input per measured unit, e.g. N m per 1/m.
    frequency : float
        w of the filter [rad/s]; it is kept exactly when the filter is sampled.
    damping : float
        zeta of the filter; without effect for order 1.
    sample_time : float
        Control period [s].
    measure, drive, follow : str
        Curvature or strain output, input, followed reference.
    order : int
        2, or 1 for the filter w / (s + w).
    quasi_static : bool
        Whether kappa_ref is used; without it the law fights the bending that every acceleration needs.

    Examples
    --------
    >>> sensors = [{"name": "root_curvature", "kind": "curvature", "position": 0.0}]
    >>> plant = fx.load_plant("tokhi_azad_1994", sensor=sensors).linearise()
    >>> fx.strain_feedback(
    ...     plant, gain=1.8, frequency=12.0, damping=0.8, sample_time=1e-3, measure="root_curvature"
    ... ).measures
    ('root_curvature',)
    """
    plant = as_second_order(plant)
    require(order in (1, 2), f"order = {order} is neither 1 nor 2")
    require(frequency > 0 and damping > 0, f"frequency = {frequency} rad/s and damping = {damping} must be positive")
    model = design_model(plant, 1, (measure,), drive, follow)
    w = frequency
    A = np.array([[0.0, w], [-w, -2.0 * damping * w]]) if order == 2 else np.array([[-w]])
    B, C = np.zeros((order, 1)), np.zeros((1, order))
    B[-1], C[0, 0] = w, gain
    states = tuple(Signal(f"filter{i + 1}") for i in range(order))
    P = FirstOrder(A, B, C, np.zeros((1, 1)), states, (Signal(measure),), (Signal(drive),))
    sampled = discretise(P, sample_time, "prewarped", w)
    back = -model.reference * float(quasi_static)
    return LinearLaw(
        sample_time, (measure,), (drive,), (follow,), A=sampled.A, By=sampled.B, Br=sampled.B @ back, C=sampled.C,
        Dy=sampled.D, Dr=sampled.D @ back,
    )
