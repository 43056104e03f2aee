"""The public names of flexctl: this file is the one list of them. Each is imported when it is first used."""

from .catalogue import (
    Plant as Plant,
)
from .catalogue import (
    find as find,
)
from .catalogue import (
    list_controllers as list_controllers,
)
from .catalogue import (
    list_plants as list_plants,
)
from .catalogue import (
    load_controller as load_controller,
)
from .catalogue import (
    load_plant as load_plant,
)
from .catalogue.expected import verify as verify
from .design.design import Design as Design
from .design.servo import (
    Servo as Servo,
)
from .design.servo import (
    design_servos as design_servos,
)
from .design.servo import (
    servo_law as servo_law,
)
from .design.servo import (
    servo_rule as servo_rule,
)
from .design.servo import (
    with_servo as with_servo,
)
from .errors import (
    ConvergenceError as ConvergenceError,
)
from .errors import (
    DefinitionError as DefinitionError,
)
from .errors import (
    FlexctlError as FlexctlError,
)
from .errors import (
    NotAvailable as NotAvailable,
)
from .errors import (
    OutOfMemory as OutOfMemory,
)
from .errors import (
    WriteError as WriteError,
)
from .exact.euler_bernoulli import ExactBeam as ExactBeam
from .exact.transfer_matrix import TransferMatrixArm as TransferMatrixArm
from .frequency import (
    FrequencyResponse as FrequencyResponse,
)
from .frequency import (
    grid as grid,
)
from .frequency import (
    loop_gain as loop_gain,
)
from .frequency import (
    margins as margins,
)
from .frequency import (
    response as response,
)
from .frequency import (
    series as series,
)
from .frequency.margins import Margins as Margins
from .io.python_control import (
    from_control as from_control,
)
from .io.python_control import (
    load_linear as load_linear,
)
from .io.python_control import (
    nonlinear as nonlinear,
)
from .io.python_control import (
    save_linear as save_linear,
)
from .judging.certify import Certificate as Certificate
from .judging.certify import certify as certify
from .judging.compare import Comparison as Comparison
from .judging.compare import compare as compare
from .judging.scenario import Scenario as Scenario
from .judging.sweep import Span as Span
from .judging.sweep import Table as Table
from .judging.sweep import sweep as sweep
from .judging.validity import LinearValidity as LinearValidity
from .judging.validity import linear_validity as linear_validity
from .laws.controller import (
    Controller as Controller,
)
from .laws.controller import (
    Delayed as Delayed,
)
from .laws.controller import (
    LinearLaw as LinearLaw,
)
from .laws.controller import (
    Noisy as Noisy,
)
from .laws.controller import (
    Quantised as Quantised,
)
from .laws.controller import (
    Saturated as Saturated,
)
from .linear import FirstOrder as FirstOrder
from .linear import SecondOrder as SecondOrder
from .linear import linearise as linearise
from .linear.discrete import zero_order_hold as zero_order_hold
from .linear.equilibrium import equilibrium as equilibrium
from .linear.matrices import from_matrices as from_matrices
from .linear.modes import Modes as Modes
from .linear.modes import modes as modes
from .linear.operating import rest_point as rest_point
from .linear.reduce import (
    balanced_truncation as balanced_truncation,
)
from .linear.reduce import (
    modal_bounds as modal_bounds,
)
from .linear.reduce import (
    modal_truncation as modal_truncation,
)
from .linear.reduce import (
    split_rigid as split_rigid,
)
from .linear.steady import lock as lock
from .linear.steady import spinning_plant as spinning_plant
from .linear.steady import steady_state as steady_state
from .machine.arm import (
    Actuator as Actuator,
)
from .machine.arm import (
    Arm as Arm,
)
from .machine.arm import (
    Damping as Damping,
)
from .machine.arm import (
    Gravity as Gravity,
)
from .machine.arm import (
    Joint as Joint,
)
from .machine.arm import (
    Link as Link,
)
from .machine.arm import (
    Material as Material,
)
from .machine.arm import (
    Payload as Payload,
)
from .machine.arm import (
    Section as Section,
)
from .machine.arm import (
    Sensor as Sensor,
)
from .model import (
    FrequencyModel as FrequencyModel,
)
from .model import (
    MechanicalModel as MechanicalModel,
)
from .model import (
    OperatingPoint as OperatingPoint,
)
from .model import (
    Signal as Signal,
)
from .models import build as build
from .models.finite_segment.transfer import transfer_matrix_run as transfer_matrix_run
from .models.wrappers.motion_driven import motion_driven as motion_driven
from .motion.moves import (
    Cycloid as Cycloid,
)
from .motion.moves import (
    Polynomial as Polynomial,
)
from .motion.moves import (
    Step as Step,
)
from .motion.moves import (
    Trapezoid as Trapezoid,
)
from .motion.moves import (
    quintic as quintic,
)
from .motion.profiles import (
    Cosine as Cosine,
)
from .motion.profiles import (
    LinearAcceleration as LinearAcceleration,
)
from .motion.profiles import (
    Moves as Moves,
)
from .motion.profiles import (
    SpinUp as SpinUp,
)
from .motion.profiles import (
    trapezoidal_acceleration as trapezoidal_acceleration,
)
from .motion.signals import (
    PiecewiseConstant as PiecewiseConstant,
)
from .motion.signals import (
    Sampled as Sampled,
)
from .motion.signals import (
    Sine as Sine,
)
from .motion.signals import (
    bang_bang as bang_bang,
)
from .simulation.compare_methods import compare_methods as compare_methods
from .simulation.inverse import InverseDynamics as InverseDynamics
from .simulation.inverse import inverse_dynamics as inverse_dynamics
from .simulation.response import Response as Response
from .simulation.simulate import simulate as simulate

__version__: str
