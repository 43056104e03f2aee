"""LQG on RALF from both strains to the commands of both cylinders, told the commands and, for comparison, not.

All 18 states, in discrete time with the delay among them, strains high-passed as in `ralf_hinf`. Told means that the
commands pass through the law: its observer knows what they will do, and most of the vibration is gone before a sensor
has seen it, with a sixth of a degree of correction where the move begins. That is feedforward, as good as the model: 65
times less is left in the lower link, 7.5 times less with frequencies 10 % low. The same gains not told of the commands
are feedback alone: 11 and 4 times less, with a tenth of a degree.
"""

from __future__ import annotations

import flexctl as fx
from flexctl.laws.lqg_regulator import Weights, lqg_regulator
from flexctl.motions import Swing
from flexctl.scenario import Scenario, main
from flexctl.trajectories import Sine
from flexctl.variations import frequencies

PLANT = "ralf"
SERVO = fx.load_controller("ralf_servo")  # the move; here the plant closes the position loops
SETTINGS = {"damping.kind": "modal", "damping.ratio": 0.01}  # chosen
SAMPLE_TIME = 1e-3  # s
STEP = 2e-4  # s; at 1 ms the integrator would shift the modes above 100 Hz by 5 %
DRIVES = ("joint1_command", "joint2_command")
HIGH_PASS = 20.0  # rad/s, chosen
# strain^2, rad^2; chosen: 1e-4 of high-passed strain is worth 3.3e-3 rad of correction
WEIGHTS = Weights(penalty={"strain_lower": 1.0, "strain_upper": 1.0}, command=9e-4, disturbance=1e-6, noise=1e-10)
REQUIREMENTS = {
    "disk_margin": 0.5,
    "gain_margin": 2.0,
    "phase_margin_deg": 35.0,
    "frequency_change": (-0.1, 0.1),
    "residual_ratio": {"both links": 55, "both links, frequencies -10 %": 7, "both links, frequencies +10 %": 25},
}


def design(plant: fx.Plant, told: bool = True) -> fx.Design:
    """Return the law for the undamped arm; told, it follows the commands, and they pass through it."""
    return lqg_regulator(
        plant.linearise(), WEIGHTS, measures=SERVO.STRAINS, drives=DRIVES, sample_time=SAMPLE_TIME, corner=HIGH_PASS,
        told=told,
    )  # fmt: skip


def scenarios(plant: fx.Plant) -> list[Scenario]:
    """Return one cycle of both links, told, not told and without the law, also with natural frequencies 10 % off."""
    through = dict.fromkeys(DRIVES, Swing(0.0, SERVO.AMPLITUDE, SERVO.FREQUENCY))
    beside = dict.fromkeys(DRIVES, Sine(SERVO.AMPLITUDE, SERVO.FREQUENCY, 0.0, 1.0 / SERVO.FREQUENCY))
    laws = {"both links": None, "not told": design(plant, False), "servo alone": fx.LinearLaw(SAMPLE_TIME, (), DRIVES)}
    found = []
    for name, law in laws.items():
        for off, settings in frequencies(plant, SETTINGS, SERVO.OFF).items():
            goals = {**SERVO.goals(plant, settings), **({} if law else through)}
            inputs = beside if law else {}
            found.append(
                Scenario(f"{name}{off}", goals, SERVO.DURATION, settings, inputs, options={"step": STEP}, law=law,
                         against="" if name == "servo alone" else f"servo alone{off}")
            )  # fmt: skip
    return found


if __name__ == "__main__":
    main(__name__)
