"""Scheduled LQG of the flexible 2R arm that estimates the loads at both joints, in place of two integrals.

The law of planar_2r_scheduled with other weights and two states of the observer more, for the loads at the joints.
With the integrals the slowest pole is at -1.4 1/s somewhere in the set of poses, payloads and frequencies, with the
loads at -3.7 1/s, with a larger smallest disk margin and the same noise of the encoders in the torques. Encoders at the
joints are all that it has: a force at the tip is a load at both joints to it, the joints come back, the links stay
bent.
"""

from __future__ import annotations

import flexctl as fx

PLANT = "planar_2r_flexible"
SCHEDULED = fx.load_controller("planar_2r_scheduled")
SETTINGS, MOVES, POSES = SCHEDULED.SETTINGS, SCHEDULED.MOVES, SCHEDULED.POSES
PAYLOADS, RATED = (0.0, SCHEDULED.RATED, 0.5), SCHEDULED.RATED  # kg
# angles in rad, torques in N m; found by a search over seven elbow angles, payloads of 0 and 0.5 kg and frequencies at
# -5, 0 and +5 %, for the largest disk margin and the fastest slowest pole, the gain of encoder noise to torque bounded
WEIGHTS = fx.LqgWeights(
    rate=7.62e-7, energy=0.0128, integral=0.0, command=(2.08e-5, 1.48e-4), disturbance=2.15, noise=(3.38e-7, 2e-7),
    load=(5.01e-4, 1.4e-4),
)
REQUIREMENTS = {
    "disk_margin": 0.39, "decay_rate": 3.7, "payload_kg": (0.0, 0.5), "frequency_change": (-0.05, 0.05), "mu": 1.0,
    "load_recovery_s": 1.1,  # a sixth of the limit at either joint; 2.5 s with the integrals
}


def design(plant: fx.Plant, payload: float = RATED) -> fx.Design:
    """Return the law for a payload [kg]."""
    return SCHEDULED.design(plant, payload, weights=WEIGHTS)


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return 60 deg of the shoulder and 150 deg of the elbow with three payloads, and -150 deg with the rated one."""
    law = design(plant)
    known = plant.with_({**SETTINGS, "payload.mass": RATED})

    def run(name: str, mass: float, moves: dict[str, fx.Polynomial]) -> fx.Scenario:
        changes = {**SETTINGS, "payload.mass": mass}
        wanted = fx.references(plant.with_(changes), moves, law, known)
        return fx.Scenario(name, wanted, 4.0, changes, options=SCHEDULED.STEPS)

    runs = [run(f"scheduled, {1e3 * mass:g} g", mass, MOVES) for mass in PAYLOADS]
    return [*runs, run(f"other side, {1e3 * RATED:g} g", RATED, SCHEDULED.OTHER_SIDE)]


if __name__ == "__main__":
    fx.main(__name__)
