"""Input-shaped bang-bang torque on the 0.96 m arm, open loop: two modes, impulses split between samples of 1 ms.

The torque +-0.1 N m, 0.3 s each way, turns the arm by about 10 deg and leaves it ringing. Put through a shaper for the
first two modes (convolved ZV or ZVD) the same torque takes 58 or 116 ms longer and ends in rest. Two modes are needed,
and impulses split linearly between samples: one mode alone, or impulses rounded to samples, leave 2 to 26 times more.

Nothing is measured: the law is the feedforward u = J r'' of a shaped motion, designed for each payload, which must be
known. The last scenarios show what 10 % of error in all frequencies costs; ZVD tolerates it, ZV does not.
"""

from __future__ import annotations

from dataclasses import replace

import flexctl as fx

PLANT = "tokhi_azad_1994"
SETTINGS = fx.load_controller("tokhi_azad_pd").SETTINGS  # 40 sections, 1 % damping (chosen)
SAMPLE_TIME = 1e-3  # s
TORQUE, HALF_TIME = 0.1, 0.3  # N m, s: the bang-bang command of the paper
LIMIT = 0.3  # N m
MODES = 2
PAYLOADS = (0.0, 0.01, 0.02)  # kg; known to the law
OFF = (-0.1, 0.1)  # relative error of all frequencies
REQUIREMENTS = {
    "ZVD: chord1_angle.residual": 4e-6,
    "ZV: chord1_angle.residual": 2e-5,
    "ZVD at -10 %: chord1_angle.residual": 1e-4,
    "ZVD at +10 %: chord1_angle.residual": 2e-5,
    "joint1_torque.peak": 0.101,
}


def design(plant: fx.Plant, payload: float = 0.0) -> fx.Design:
    """Return the feedforward for a payload [kg]."""
    known = linear(plant, payload)
    names = {"drive": "joint1_torque", "follow": "chord1_angle"}
    return fx.rigid_feedforward(known, sample_time=SAMPLE_TIME, **names, limit=LIMIT)


def linear(plant: fx.Plant, payload: float) -> fx.SecondOrder:
    """Return the linear plant that law and shaper are designed on."""
    return plant.with_(overrides=SETTINGS, payload={"mass": payload}).linearise()


def shaper(plant: fx.Plant, kind: str, payload: float, modes: int = MODES) -> fx.Shaper:
    """Return the shaper of the first modes with a payload [kg], on the samples of the law."""
    return fx.shaper_for(linear(plant, payload), kind, modes).on_samples(SAMPLE_TIME)


def scenarios(plant: fx.Plant) -> list[fx.Scenario]:
    """Return the command shaped and as it is with 0, 10 and 20 g, on the finite-difference march; then 10 % off."""
    found = []
    for payload in PAYLOADS:
        law = design(plant, payload)  # the first is the one that the script returns
        angle = TORQUE * HALF_TIME**2 / law.found["inertia"]  # rad: how far the torque turns a rigid arm
        move = fx.Trapezoid(0.0, angle, 2 * HALF_TIME, HALF_TIME)
        motions = {kind.upper(): fx.shaped(move, shaper(plant, kind, payload)) for kind in ("zvd", "zv")}
        overrides = {**SETTINGS, "payload.mass": payload}
        for name, motion in {**motions, "unshaped": move}.items():
            label = f"{name}, {1e3 * payload:g} g"
            own = law if payload else None
            found.append(fx.Scenario(label, motion, 2.0, overrides, options={"method": "march"}, law=own))
    for item in found[: len(found) // len(PAYLOADS)]:
        for change, other in zip(OFF, fx.frequency_variations(plant, item.overrides, OFF).values(), strict=True):
            label = item.name.replace(",", f" at {100 * change:+g} %,")
            found.append(replace(item, name=label, overrides=other))
    return found


if __name__ == "__main__":
    fx.main(__name__)
