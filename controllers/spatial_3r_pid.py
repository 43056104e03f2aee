"""PID of every joint on the spatial 3R arm under gravity: bandwidth and phase margin in, rigid torques fed forward.

Post and links bend and twist; the law reads the joint angles alone, 2 kHz with one sample of delay. Each joint's gains
come from the linear plant with the other joints held, about the arm at rest under its weight; the loops together are
checked on the whole plant. The torques of the rigid arm, weight included, are fed forward: they carry the arm and take
the lag away; without them the integrals would have to find more than 100 N m at joint 2. The payload is not known to
the law: its weight is left to the integrals, which take a second or two, and to the links, which sag.
"""

from __future__ import annotations

import numpy as np

import flexctl as fx

PLANT = "spatial_3r"
# beta [s] chosen: 0.5 % at 16 Hz, 3 % at 100 Hz
SETTINGS = {"model.elements": 4, "damping": {"kind": "rayleigh", "beta": 1e-4}}
BEGIN = (0.0, -0.6, 1.0)  # rad: upper link 34 deg above the horizontal, the last one 23 deg below
END = tuple(angle + np.pi / 3 for angle in BEGIN)
MOVES = {f"joint{i}": fx.quintic(a, b, 1.0) for i, (a, b) in enumerate(zip(BEGIN, END, strict=True), 1)}  # rad, s
CROSSOVER, PHASE_MARGIN, SPREAD, RESET = 20.0, 50.0, 4.0, 10.0  # rad/s, deg; chosen: a fifth of 16 Hz
SAMPLE_TIME = 0.5e-3  # s
LIMIT = 400.0  # N m
PAYLOADS = (0.0, 1.0, 2.0)  # kg; the links weigh 7.2 kg each
POSES = [END, (0.0, 0.0, 0.0)]
STEPS = {"method": "sdirk"}  # torques that jump every period: the fourth order takes fewer steps
# the least robust poses lie on the way between those: 0.47 with 2 kg and the last joint at 88 deg
REQUIREMENTS = {"disk_margin": 0.45, "payload_kg": (0.0, 2.0)}


def design(plant: fx.Plant) -> fx.Design:
    """Return the law, designed where the move begins."""
    arm = plant.with_(SETTINGS)
    at = fx.OperatingPoint.at_rest(arm.model, arm.model.rest(BEGIN))
    return fx.joint_pids(
        arm.linearise(at), crossover=CROSSOVER, phase_margin_deg=PHASE_MARGIN, sample_time=SAMPLE_TIME, spread=SPREAD,
        reset=RESET, limit=LIMIT,
    )


def start(model: fx.MechanicalModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the arm at rest under its weight where the move begins, whatever it carries and is made of."""
    q = model.rest(BEGIN)
    return q, np.zeros(q.size)


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return 60 deg of all joints with three payloads that the law does not know, from rest under the weight."""
    law, found = design(plant), []
    known = plant.with_(model={"elements": 1})  # straight links need no more for their torques
    for mass in PAYLOADS:
        changes = {**SETTINGS, "payload.mass": mass}
        arm = plant.with_(changes)
        wanted = fx.references(arm, MOVES, law, known=known)
        found.append(fx.Scenario(f"60 deg, {mass:g} kg", wanted, 3.0, changes, options={"initial": start, **STEPS}))
    return found


if __name__ == "__main__":
    fx.main(__name__)
