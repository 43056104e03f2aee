"""LQG scheduled over the elbow on the flexible 2R arm: joint encoders only, 2 kHz, one sample of delay.

Folding the elbow takes three quarters of the inertia away that joint 1 feels, and moves the modes. Four designs, from
the stretched to the folded arm, each on its own linear plant with two flexible modes, are blended by the size of the
measured elbow angle (with the elbow on the other side the arm is its mirror image); the torques of the rigid arm are
fed forward. The move goes through all poses, to one side or the other. The same law frozen at one of the
designs does not serve them all: those for the stretched arm are unstable when it is folded, and the other way round
with a payload. The law is made for 0.25 kg; it is not told the actual payload, except in the last runs, where it is
designed for it (scheduling over the payload).
"""

from __future__ import annotations

import numpy as np

import flexctl as fx

PLANT = "planar_2r_flexible"
# chosen: 1 % at 50 Hz, the first mode with free joints. The links have no hubs, so that a torque acts on next to no
# inertia; undamped, the modes above 1 kHz that this excites would fold into the band of the sampled law
SETTINGS = {"model.elements": 6, "damping": {"kind": "rayleigh", "beta": 6.4e-5}}  # s
SAMPLE_TIME = 0.5e-3  # s
LIMIT = 40.0  # N m
RATED = 0.25  # kg; a link weighs 0.945 kg
ELBOWS = tuple(np.radians([0.0, 50.0, 100.0, 150.0]))  # rad, the designs
POSES = [(0.0, e) for e in np.radians([25.0, 50.0, 75.0, 100.0, 125.0, 150.0, -90.0, -150.0])]  # beside the start
JOINTS, TORQUES = ("joint1_angle", "joint2_angle"), ("joint1_torque", "joint2_torque")
WEIGHTS = fx.LqgWeights(
    rate=1e-3, energy=1e-4, integral=300.0, command=(5e-4, 2e-3), disturbance=0.1, noise=(1e-8, 1e-7)
)  # angles in rad, torques in N m
MOVES = {"joint1": fx.quintic(0.0, np.pi / 3, 1.5), "joint2": fx.quintic(0.0, ELBOWS[-1], 1.5)}  # rad, s
OTHER_SIDE = {**MOVES, "joint2": fx.quintic(0.0, -ELBOWS[-1], 1.5)}
STEPS = {"method": "sdirk"}  # torques that jump every period: the fourth order takes fewer steps
REQUIREMENTS = {"disk_margin": 0.4, "payload_kg": (0.0, 0.5), "mu": 1.0}


def at(plant: fx.Plant, elbow: float) -> fx.SecondOrder:
    """Return the linear plant at an elbow angle [rad]."""
    return plant.linearise(fx.OperatingPoint.at_rest(plant.model, plant.model.pose([0.0, elbow])))


def design(
    plant: fx.Plant, payload: float = RATED, frozen: float | None = None, weights: fx.LqgWeights = WEIGHTS
) -> fx.Design:
    """Return the law for a payload [kg]; `frozen` at an elbow angle [rad] it stays what it is there."""
    arm = plant.with_(SETTINGS, payload={"mass": payload})
    laws = []
    for elbow in ELBOWS if frozen is None else (frozen,):
        linear = at(arm, elbow)
        law = fx.lqg(
            linear, weights, modes=2, sample_time=SAMPLE_TIME, measures=JOINTS, drive=TORQUES, follow=JOINTS,
            limit=LIMIT,
        )
        laws.append(fx.fed_forward(law, fx.design_model(linear, 0, JOINTS, TORQUES, JOINTS).inertia))
    told = {"payload": payload, "elbows": ELBOWS, "weights": weights, "sample_time": SAMPLE_TIME, "limit": LIMIT}
    if frozen is not None:
        return fx.Design(laws[0].law, at(arm, frozen), {**told, "elbows": (frozen,)})
    return fx.Design(fx.blended(laws, ELBOWS, JOINTS[1], mirrored=True), at(arm, 0.0), told, schedule={JOINTS[1]: 0.0})


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return 60 deg and 150 deg of shoulder and elbow with three payloads, -150 deg; frozen and told laws."""

    def run(
        name: str, mass: float, law: fx.Design | None = None, known: float = RATED,
        moves: dict[str, fx.Polynomial] = MOVES,
    ) -> fx.Scenario:
        changes = {**SETTINGS, "payload.mass": mass}
        arms = (plant.with_({**SETTINGS, "payload.mass": m}) for m in (mass, known))
        wanted = fx.references(next(arms), moves, law or here, next(arms))
        return fx.Scenario(name, wanted, 4.0, changes, law=law, options=STEPS)

    here = design(plant)
    frozen = {f"frozen at {np.degrees(e):.0f} deg": design(plant, frozen=e) for e in ELBOWS}
    return [
        *(run(f"scheduled, {1e3 * mass:g} g", mass) for mass in (0.0, RATED, 0.5)),
        run(f"other side, {1e3 * RATED:g} g", RATED, moves=OTHER_SIDE),
        *(run(f"{name}, {1e3 * mass:g} g", mass, law) for name, law in frozen.items() for mass in (0.0, RATED, 0.5)),
        *(run(f"told, {1e3 * mass:g} g", mass, design(plant, mass), mass) for mass in (0.0, 0.5)),
    ]


if __name__ == "__main__":
    fx.main(__name__)
