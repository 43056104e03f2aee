"""Open-loop control: the torque of the rigid arm for a commanded motion, nothing measured.

    u = J r''

It is a law like any other, with references and a limit, but without feedback: there is no loop and nothing to certify
except the runs. What it leaves in the flexible modes is up to the motion: put that through a shaper, see
`flexctl.design.shaping`.
"""

from __future__ import annotations

import numpy as np

from ..laws.controller import LinearLaw
from ..machine.given import LinearGiven, as_second_order
from ..support.checks import positive
from .design import Design
from .design_model import Names, design_model


def rigid_feedforward(
    plant: LinearGiven, *, sample_time: float, drive: Names, follow: Names, limit: float = np.inf
) -> Design:
    """Return the sampled law that measures nothing, with the rigid inertia that it found (of one motion).

    Parameters
    ----------
    plant : SecondOrder
        Linear plant with as many rigid-body modes as there are inputs and followed outputs: where J comes from.
    sample_time : float
        Control period [s].
    drive, follow : str or tuple of str
        Torque inputs; reference channels, which must be angles or positions of the rigid arm.
    limit : float
        Largest torque.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994").linearise()
    >>> law = fx.rigid_feedforward(plant, sample_time=1e-3, drive="joint1_torque", follow="chord1_angle")
    >>> print(f"{law.found['inertia']:.4f} kg m^2")
    0.0498 kg m^2
    """
    plant = as_second_order(plant)
    positive("sample_time", sample_time, "s")
    model = design_model(plant, 0, (), drive, follow)
    law = LinearLaw(sample_time, (), model.drives, model.follows, Dr=model.feedforward).limited(-limit, limit)
    found = {"inertia": float(model.inertia[0, 0])} if model.inertia.size == 1 else {}
    return Design(law, plant, {"sample_time": sample_time, "limit": limit}, found)
