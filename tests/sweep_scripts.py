"""Controller scripts that tests of sweeps write to their folder."""

from __future__ import annotations

CONTROLLER = '''"""A PD for the tests."""
from dataclasses import dataclass
import pathlib
from flexctl import LinearLaw
from flexctl.judging.scenario import Scenario
from flexctl.motion.moves import quintic

PLANT = "tokhi_azad_1994"

@dataclass(frozen=True)
class Gains:
    angle: float = 0.4
    rate: float = 0.05

GAINS = Gains()
SETTINGS = {"model.sections": 8, "damping": {"kind": "modal", "ratio": 0.01}}

def design(plant, limit=0.3):
    k, d = GAINS.angle, GAINS.rate
    gains = {"Dy": [[-k, -d]], "Dr": [[k, d, plant.arm.payload.mass]]}
    names = ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",)
    return LinearLaw(1e-3, *names, **gains).limited(-limit, limit)

def scenarios(plant):
    with pathlib.Path(__file__).with_name("called").open("a") as stream:
        stream.write("x")
    return [Scenario("move", quintic(0.0, 0.1, 0.2), 0.3, SETTINGS), Scenario("long", quintic(0.0, 0.1, 0.2), 0.4)]
'''


SLOW = CONTROLLER + """
import time
plain = design

def design(plant, limit=0.3):
    time.sleep(0.15)
    return plain(plant, limit)
"""
