"""The channels of an arm that matter first: from its own drives to its main sensors.

An arm has dozens of outputs, so that every question has its sensor. A picture of all of them shows nothing. First come
the commands of the drives and what is measured of it: the joints that are driven, the tip, and the sensors that the
plant file adds. A plant whose signals have other names is shown whole.
"""

from __future__ import annotations

import re

from ..model import FrequencyModel, names

_DRIVE = re.compile(r"(joint\d+)_(torque|force|voltage|current|command|acceleration|valve)")
_JOINT = re.compile(r"(joint\d+)_(angle|extension)")
_OWN = re.compile(r"(joint\d+|chord\d+|link\d+|tip)_.*")


def main_channels(plant: FrequencyModel) -> tuple[list[str], list[str]]:
    """Return the names of the inputs and of the outputs to show first; all of a kind where none is recognised."""
    inputs, outputs = names(plant.inputs), names(plant.outputs)
    drives = [name for name in inputs if _DRIVE.fullmatch(name)]
    joints = {name.split("_")[0] for name in drives}
    sensors = []
    for name in outputs:
        joint = _JOINT.fullmatch(name)
        tip = re.fullmatch("tip_([xyz]|displacement)", name)
        if (joint[1] in joints or not joints) if joint else (tip or not _OWN.fullmatch(name)):
            sensors.append(name)
    return drives or inputs, sensors or outputs
