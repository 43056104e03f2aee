"""Names that moved or are misspelt: the error says where to look. No old name works.

The tables of modules and signals are in CHANGELOG too.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

MODULES = {
    "accuracy": "simulation.accuracy",
    "actuators": "design.hydraulics",
    "analog": "simulation.analog",
    "animate": "io.animate",
    "arm": "machine.arm",
    "catalogue.plausible": "machine.plausible",
    "cautions": "simulation.cautions",
    "certify": "judging.certify",
    "commanded": "simulation.commanded",
    "compare": "judging.compare",
    "continuation": "models.continuation",
    "curves": "motion.curves",
    "engines": "simulation.engines",
    "export.matfile": "io.matfile",
    "export.records": "io.records",
    "checks": "support.checks",
    "files": "support.files",
    "growth": "simulation.growth",
    "integrate": "kernels.schemes",
    "inverse": "simulation.inverse",
    "kinematics": "motion.kinematics",
    "laws.compile": "laws.compiled",
    "laws.design": "design.design",
    "laws.design_model": "design.design_model",
    "laws.feedforward": "design.feedforward",
    "laws.filters": "design.filters",
    "laws.governor": "design.governor",
    "laws.hinf": "design.hinf",
    "laws.inversion": "design.inversion",
    "laws.joint_pid": "design.joint_pid",
    "laws.loop_shaping": "design.loop_shaping",
    "laws.lqg": "design.lqg",
    "laws.lqg_regulator": "design.lqg_regulator",
    "laws.mixed_sensitivity": "design.mixed_sensitivity",
    "laws.pd": "design.pd",
    "laws.pid": "design.pid",
    "laws.recipes": "design.recipes",
    "laws.sampled_model": "design.sampled_model",
    "laws.servo": "design.servo",
    "laws.shaping": "design.shaping",
    "laws.strain": "design.strain",
    "laws.tracking": "design.tracking",
    "laws.valve": "design.valve",
    "laws.vibration": "design.vibration",
    "loopstability": "simulation.path_stability",
    "memory": "support.memory",
    "methods": "simulation.compare_methods",
    "models._kernels.banded": "kernels.resolvent",
    "models._kernels.bands": "kernels.bands",
    "models._kernels.governor": "laws.governed_kernel",
    "models._kernels.linear": "kernels.linear",
    "models._kernels.march": "kernels.explicit",
    "models._kernels.pivoted": "kernels.resolvent_pivoted",
    "models._kernels.segment_transfer": "models.finite_segment.transfer_kernel",
    "models._kernels.transfer_matrix": "exact.transfer_matrix.kernel",
    "models.ancf_arm": "models.ancf.arm",
    "models.ancf_damping": "models.ancf.damping",
    "models.ancf_element": "models.ancf.element",
    "models.ancf_inputs": "models.ancf.loads",
    "models.ancf_mesh": "models.ancf.mesh",
    "models.ancf_rigid": "models.ancf.rigid",
    "models.ancf_sensors": "models.ancf.sensors",
    "models.ancf_stepper": "models.ancf.stepper",
    "models.assumed_motion": "models.assumed_modes.motion",
    "models.assumed_poses": "models.assumed_modes.poses",
    "models.assumed_sensors": "models.assumed_modes.sensors",
    "models.assumed_tree": "models.assumed_modes.mesh",
    "models.assumed_weight": "models.assumed_modes.weight",
    "models.beam_functions": "exact.beam_functions",
    "models.exact_beam": "exact.euler_bernoulli",
    "models.finite_difference.inputs": "simulation.grid",
    "models.finite_difference.kernel": "kernels.explicit",
    "models.finite_difference.march": "models.finite_difference.scheme",
    "models.histories": "simulation.grid",
    "models.hydraulic": "models.wrappers.hydraulic",
    "models.linear_model": "linear.linear_model",
    "models.marching": "models.finite_difference.scheme",
    "models.motion_driven": "models.wrappers.motion_driven",
    "models.planar_mesh": "models.timoshenko_planar.mesh",
    "models.planar_rigid": "models.timoshenko_planar.rigid",
    "models.planar_sensors": "models.timoshenko_planar.sensors",
    "models.planar_stepper": "models.timoshenko_planar.stepper",
    "models.segment_chain": "models.finite_segment.mesh",
    "models.segment_sensors": "models.finite_segment.sensors",
    "models.segment_static": "models.finite_segment.rest",
    "models.segment_stepper": "models.finite_segment.stepper",
    "models.segment_transfer": "models.finite_segment.transfer",
    "models.separate": "simulation.mode_filter",
    "models.serial_arm": "models.serial",
    "models.serial_sensors": "models.sensors",
    "models.settling": "models.rest",
    "models.shapes": "models.assumed_modes.shapes",
    "models.spatial_assembly": "models.timoshenko_spatial.assembly",
    "models.spatial_element": "models.timoshenko_spatial.element",
    "models.spatial_mesh": "models.timoshenko_spatial.mesh",
    "models.spatial_rigid": "models.timoshenko_spatial.rigid",
    "models.spatial_rotation": "models.timoshenko_spatial.rotation",
    "models.spatial_sensors": "models.timoshenko_spatial.sensors",
    "models.spatial_stepper": "models.timoshenko_spatial.stepper",
    "models.stations": "models.finite_difference.mesh",
    "models.timoshenko_element": "models.timoshenko_planar.element",
    "models.transfer_chain": "exact.transfer_matrix.chain",
    "models.transfer_channels": "exact.transfer_matrix.channels",
    "models.transfer_matrix": "exact.transfer_matrix",
    "models.transfer_modes": "exact.transfer_matrix.modes",
    "models.transfer_poles": "exact.transfer_matrix.poles",
    "models.transfer_roots": "exact.transfer_matrix.roots",
    "modes": "linear.modes",
    "motions": "motion.profiles",
    "operating": "linear.operating",
    "paths": "motion.paths",
    "plain": "simulation.plain",
    "plot": "io.plot",
    "prescribed": "simulation.rigid_prescribed",
    "response": "simulation.response",
    "rest": "motion.resting",
    "run": "simulation.run",
    "scenario": "judging.scenario",
    "schema": "machine.schema",
    "scores": "simulation.scores",
    "signals": "motion.signals",
    "simulate": "simulation.simulate",
    "statics": "linear.equilibrium",
    "steady": "linear.steady",
    "sweep": "judging.sweep",
    "timegrid": "simulation.grid",
    "track": "motion.track",
    "tracked": "judging.tracking_scenarios",
    "trajectories": "motion.moves",
    "validity": "judging.validity",
    "variations": "judging.variations",
    "workers": "judging.workers",
}
"""Module of 0.1.0 before its folders -> module now, below `flexctl`."""

NAMES = {
    "Gains": "PidGains or fx.TrackingGains",
    "Scales": "HinfScales",
    "Weights": "LqgWeights, fx.RegulatorWeights, fx.HinfWeights or fx.VibrationWeights",
    "frequencies": "frequency_variations",
    "gains": "pid_gains",
    "mixed_sensitivity": "hinf",
    "optimised": "optimised_shaper",
    "proportional": "proportional_servo",
    "response": "frequency_response",
    "resting": "rest_references",
    "tracked": "tracking_scenario",
}
"""Function or class of 0.1.0 before its folders -> public name now."""

CALLS = {"FiniteDifference.march": 'fx.simulate(model, inputs=.., duration=.., step=.., method="march")'}
"""Method of 0.1.0 -> the call that does the same now."""

ARGUMENTS = {
    ("equilibrium", "u"): "load",
    ("rest_point", "u"): "load",
    ("lead_servo", "phase_margin"): "phase_margin_deg",
    ("proportional_servo", "phase_margin"): "phase_margin_deg",
}
"""Function and its argument that was renamed -> the argument now."""

MEMBERS = {"told_real_poles": "real_poles_listed"}
"""Method that no function shares its name with -> its name now."""


SIGNALS = {
    "hub_angle": "joint1_angle",
    "hub_rate": "joint1_rate",
    "hub_torque": "joint1_torque",
    "tip": "tip_displacement",
    "tip_angle": "chord1_angle",
}
"""Signal of finite differences in 0.1.0 -> its name in every formulation."""
_SIGNAL = re.compile(rf"\b({'|'.join(SIGNALS)})\b")


def renamed_signal(word: str, known: Iterable[str]) -> str:
    """Return the known word that an old one has become, also within a score ("tip.peak"); empty if there is none."""
    new = _SIGNAL.sub(lambda found: SIGNALS[found[0]], word)
    return new if new != word and new in known else ""


def check_module(name: str) -> None:
    """Raise an error that names the new place of a module that has moved."""
    old = name.removeprefix("flexctl.")
    # Python asks for a folder before it asks for what is in it, and then for nothing more
    found = [key for key in MODULES if key == old or key.startswith(f"{old}.")]
    if found:
        raise ModuleNotFoundError("; ".join(f"flexctl.{x} is now flexctl.{MODULES[x]}" for x in found), name=name)


class OldMembers:
    """A class whose methods were renamed: an old name says the new one."""

    if not TYPE_CHECKING:  # or else type checkers would take any attribute for one that exists

        def __getattr__(self, name: str) -> Any:
            new = {**NAMES, **MEMBERS}.get(name, "")
            kind = type(self).__name__
            told = f"{kind!r} object has no attribute {name!r}: it is now"
            if hasattr(type(self), new):
                raise AttributeError(f"{told} {new!r}")
            if f"{kind}.{name}" in CALLS:
                raise AttributeError(f"{told} {CALLS[f'{kind}.{name}']}")
            return object.__getattribute__(self, name)  # once more, for its own error


def unknown_name(name: str, known: Iterable[str]) -> str:
    """Return the message for a name that flexctl does not have."""
    message = f"module 'flexctl' has no attribute {name!r}"
    if name in NAMES:
        return f"{message}: it is now fx.{NAMES[name]}"
    if name in MODULES:
        return f"{message}: that module is now flexctl.{MODULES[name]}"
    close: list[Any] = difflib.get_close_matches(name, known, 1)
    return f"{message} (did you mean {close[0]!r}?)" if close else message
