"""flexctl: controller design for flexible robot arms.

    import flexctl as fx
    arm = fx.load_plant("tokhi_azad_1994")        # a plant of the catalogue, or a path to any TOML file
    plant = arm.linearise()                       # M, D, K, B, Cq, Cv, Ca with names, about an operating point
    sys = plant.statespace()                      # control.StateSpace
    run = fx.simulate(arm, controller, reference, duration=1.2)

Every public name is listed below and imported from its module on first use, so that `import flexctl` stays light.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .arm import Actuator, Arm, Damping, Gravity, Joint, Link, Material, Payload, Section, Sensor
    from .catalogue import Plant, find, list_controllers, list_plants, load_controller, load_plant
    from .catalogue.expected import verify
    from .certify import Certificate, certify
    from .compare import Comparison, compare
    from .errors import ConvergenceError, DefinitionError, FlexctlError, NotAvailable, OutOfMemory, WriteError
    from .export import from_control, load_linear, nonlinear, save_linear
    from .frequency import FrequencyResponse, grid, loop_gain, margins, response, series
    from .frequency.margins import Margins
    from .inverse import InverseDynamics, inverse_dynamics
    from .laws.controller import Controller, Delayed, LinearLaw, Noisy, Quantised, Saturated
    from .laws.design import Design
    from .laws.servo import Servo, design_servos, servo_law, servo_rule, with_servo
    from .linear import FirstOrder, SecondOrder, linearise
    from .linear.discrete import zero_order_hold
    from .linear.matrices import from_matrices
    from .linear.reduce import balanced_truncation, modal_bounds, modal_truncation, split_rigid
    from .methods import compare_methods
    from .model import FrequencyModel, MechanicalModel, OperatingPoint, Signal
    from .models import build
    from .models.exact_beam import ExactBeam
    from .models.motion_driven import motion_driven
    from .models.segment_transfer import transfer_matrix_run
    from .models.transfer_matrix import TransferMatrixArm
    from .modes import Modes, modes
    from .motions import Cosine, LinearAcceleration, Moves, SpinUp, trapezoidal_acceleration
    from .operating import rest_point
    from .response import Response
    from .scenario import Scenario
    from .signals import PiecewiseConstant, Sampled, Sine, bang_bang
    from .simulate import simulate
    from .statics import equilibrium
    from .steady import lock, spinning_plant, steady_state
    from .sweep import Span, Table, sweep
    from .trajectories import Cycloid, Polynomial, Step, Trapezoid, quintic
    from .validity import LinearValidity, linear_validity

_NAMES = {
    "arm": "Actuator Arm Damping Gravity Joint Link Material Payload Section Sensor",
    "catalogue": "Plant find list_controllers list_plants load_controller load_plant",
    "certify": "Certificate certify",
    "compare": "Comparison compare",
    "linear.discrete": "zero_order_hold",
    "errors": "ConvergenceError DefinitionError FlexctlError NotAvailable OutOfMemory WriteError",
    "catalogue.expected": "verify",
    "export": "from_control load_linear nonlinear save_linear",
    "frequency": "FrequencyResponse grid loop_gain margins response series",
    "inverse": "InverseDynamics inverse_dynamics",
    "laws.controller": "Controller Delayed LinearLaw Noisy Quantised Saturated",
    "laws.design": "Design",
    "laws.servo": "Servo design_servos servo_law servo_rule with_servo",
    "linear": "FirstOrder SecondOrder linearise",
    "frequency.margins": "Margins",
    "linear.matrices": "from_matrices",
    "methods": "compare_methods",
    "model": "FrequencyModel MechanicalModel OperatingPoint Signal",
    "models": "build",
    "models.exact_beam": "ExactBeam",
    "models.motion_driven": "motion_driven",
    "models.segment_transfer": "transfer_matrix_run",
    "models.transfer_matrix": "TransferMatrixArm",
    "modes": "Modes modes",
    "motions": "Cosine LinearAcceleration Moves SpinUp trapezoidal_acceleration",
    "linear.reduce": "balanced_truncation modal_bounds modal_truncation split_rigid",
    "response": "Response",
    "scenario": "Scenario",
    "signals": "PiecewiseConstant Sampled Sine bang_bang",
    "simulate": "simulate",
    "operating": "rest_point",
    "statics": "equilibrium",
    "steady": "lock spinning_plant steady_state",
    "sweep": "Span Table sweep",
    "trajectories": "Cycloid Polynomial Step Trapezoid quintic",
    "validity": "LinearValidity linear_validity",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "Actuator",
    "Arm",
    "Certificate",
    "Comparison",
    "Controller",
    "ConvergenceError",
    "Cosine",
    "Cycloid",
    "Damping",
    "DefinitionError",
    "Delayed",
    "Design",
    "ExactBeam",
    "FirstOrder",
    "FlexctlError",
    "FrequencyModel",
    "FrequencyResponse",
    "Gravity",
    "InverseDynamics",
    "Joint",
    "LinearAcceleration",
    "LinearLaw",
    "LinearValidity",
    "Link",
    "Margins",
    "Material",
    "MechanicalModel",
    "Modes",
    "Moves",
    "Noisy",
    "NotAvailable",
    "OperatingPoint",
    "OutOfMemory",
    "Payload",
    "PiecewiseConstant",
    "Plant",
    "Polynomial",
    "Quantised",
    "Response",
    "Sampled",
    "Saturated",
    "Scenario",
    "SecondOrder",
    "Section",
    "Sensor",
    "Servo",
    "Signal",
    "Sine",
    "Span",
    "SpinUp",
    "Step",
    "Table",
    "TransferMatrixArm",
    "Trapezoid",
    "WriteError",
    "__version__",
    "balanced_truncation",
    "bang_bang",
    "build",
    "certify",
    "compare",
    "compare_methods",
    "design_servos",
    "equilibrium",
    "find",
    "from_control",
    "from_matrices",
    "grid",
    "inverse_dynamics",
    "linear_validity",
    "linearise",
    "list_controllers",
    "list_plants",
    "load_controller",
    "load_linear",
    "load_plant",
    "lock",
    "loop_gain",
    "margins",
    "modal_bounds",
    "modal_truncation",
    "modes",
    "motion_driven",
    "nonlinear",
    "quintic",
    "response",
    "rest_point",
    "save_linear",
    "series",
    "servo_law",
    "servo_rule",
    "simulate",
    "spinning_plant",
    "split_rigid",
    "steady_state",
    "sweep",
    "transfer_matrix_run",
    "trapezoidal_acceleration",
    "verify",
    "with_servo",
    "zero_order_hold",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Keeps `flexctl.simulate` the function: importing the submodule of that name would put the module in its place."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
