"""The public names of flexctl: this file is the one list of them. Each is imported when it is first used."""

# Machines: the catalogue, plant files and the data of an arm
from .catalogue import (
    Plant as Plant,
    find as find,
    list_controllers as list_controllers,
    list_plants as list_plants,
    load_controller as load_controller,
    load_plant as load_plant,
)
from .catalogue.linear_plant import LinearSystem as LinearSystem
from .catalogue.expected import verify as verify
from .machine.arm import (
    Actuator as Actuator,
    Arm as Arm,
    Damping as Damping,
    Gravity as Gravity,
    Joint as Joint,
    Link as Link,
    Material as Material,
    Payload as Payload,
    Section as Section,
    Sensor as Sensor,
)

from .machine.drives import DriveCaution as DriveCaution, Friction as Friction, Motor as Motor
from .machine.measured import measured_link as measured_link

# Models: the interface, and each formulation as a class
from .model import (
    FrequencyModel as FrequencyModel,
    MechanicalModel as MechanicalModel,
    OperatingPoint as OperatingPoint,
    Signal as Signal,
    index_of as index_of,
    names as names,
)
from .models import build as build
from .models.ancf import Ancf as Ancf
from .models.assumed_modes import AssumedModes as AssumedModes
from .models.finite_difference import FiniteDifference as FiniteDifference
from .models.finite_segment import FiniteSegment as FiniteSegment
from .models.finite_segment import transfer as segment_transfer
from .models.finite_segment.transfer import transfer_matrix_run as transfer_matrix_run
from .models.ranges import BeyondModel as BeyondModel
from .models.timoshenko_planar import TimoshenkoPlanar as TimoshenkoPlanar
from .models.timoshenko_planar import element as timoshenko_element
from .models.timoshenko_spatial import TimoshenkoSpatial as TimoshenkoSpatial
from .models.wrappers.driven_joints import driven_joints as driven_joints
from .models.wrappers.motion_driven import motion_driven as motion_driven
from .exact.euler_bernoulli import ExactBeam as ExactBeam
from .exact.transfer_matrix import TransferMatrixArm as TransferMatrixArm

# Linear plants: where they are taken, modes, sampling, reduction, loops
from .linear import FirstOrder as FirstOrder, SecondOrder as SecondOrder, linearise as linearise
from .linear.conversion import discretise as discretise
from .linear.discrete import zero_order_hold as zero_order_hold
from .linear.equilibrium import equilibrium as equilibrium
from .linear.interconnect import closed_loop as closed_loop, loop_poles as loop_poles
from .linear.matrices import from_matrices as from_matrices
from .linear.modes import (
    Modes as Modes,
    NormalModes as NormalModes,
    modal_damping as modal_damping,
    modes as modes,
    normal_modes as normal_modes,
)
from .linear.operating import NotBalanced as NotBalanced, rest_point as rest_point
from .linear.reduce import (
    balanced_truncation as balanced_truncation,
    modal_bounds as modal_bounds,
    modal_truncation as modal_truncation,
    split_rigid as split_rigid,
)
from .linear.steady import lock as lock, spinning_plant as spinning_plant, steady_state as steady_state

# Frequency: responses, grids, margins
from .frequency import (
    FrequencyResponse as FrequencyResponse,
    Peak as Peak,
    frequency_response as frequency_response,
    grid as grid,
    loop_gain as loop_gain,
    margins as margins,
    series as series,
    transfer as transfer,
)
from .frequency.margins import Margins as Margins
from .frequency.measured import MeasuredMargins as MeasuredMargins
from .frequency.norms import InfiniteNorm as InfiniteNorm, Norm as Norm, norm as norm

# Motions: what joints, tips and inputs are asked to do
from .motion.curves import Circle as Circle, Curve as Curve, Polyline as Polyline, Spline as Spline, square as square
from .motion.later import Later as Later
from .motion.moves import (
    Cycloid as Cycloid,
    Motion as Motion,
    Polynomial as Polynomial,
    Step as Step,
    Tabulated as Tabulated,
    Trapezoid as Trapezoid,
    acceleration_of as acceleration_of,
    quintic as quintic,
)
from .motion.optimal import OptimalMotion as OptimalMotion
from .motion.planned import Planned as Planned
from .motion.paths import ConstantSpeed as ConstantSpeed, Path as Path, by_sides as by_sides, eased_sides as eased_sides
from .motion.profiles import (
    Cosine as Cosine,
    LinearAcceleration as LinearAcceleration,
    Moves as Moves,
    SpinUp as SpinUp,
    Swing as Swing,
    trapezoidal_acceleration as trapezoidal_acceleration,
)
from .motion.signals import (
    InputSignal as InputSignal,
    PiecewiseConstant as PiecewiseConstant,
    Sampled as Sampled,
    Sine as Sine,
    bang_bang as bang_bang,
)
from .motion.track import Track as Track
from .motion.rounded import Rounded as Rounded

# Laws: what runs
from .laws.blended import blended as blended
from .laws.combine import together as together
from .laws.controller import (
    Controller as Controller,
    Delayed as Delayed,
    LinearLaw as LinearLaw,
    Noisy as Noisy,
    Quantised as Quantised,
    Saturated as Saturated,
)
from .laws.added import with_added as with_added
from .laws.faults import Frozen as Frozen, Missed as Missed
from .laws.motion_command import MotionCommand as MotionCommand
from .laws.realised import realised as realised
from .laws.rigid_reference import fed_forward as fed_forward, references as references
from .laws.scheduled import ScheduledLaw as ScheduledLaw

# Designs: what makes laws
from .design.design import Design as Design
from .design.design_model import DesignModel as DesignModel, design_model as design_model
from .design.fastest_track import fastest_track as fastest_track
from .design.feedforward import rigid_feedforward as rigid_feedforward
from .design.filters import (
    filtered as filtered,
    lead as lead,
    low_pass as low_pass,
    notch as notch,
    smoothed as smoothed,
)
from .design.fixed_order import fixed_order as fixed_order, output_integral as output_integral
from .design.governor import governor as governor
from .design.hydraulics import HydraulicActuator as HydraulicActuator
from .design.inversion import Inversion as Inversion, deviation as deviation, stable_inversion as stable_inversion
from .design.joint_pid import joint_pids as joint_pids
from .design.loop_shaping import loop_shaping as loop_shaping
from .design.lqg import LqgWeights as LqgWeights, lqg as lqg
from .design.lqg_regulator import RegulatorWeights as RegulatorWeights, lqg_regulator as lqg_regulator
from .design.lqg_servo import ServoWeights as ServoWeights, lqg_servo as lqg_servo
from .design.mixed_sensitivity import HinfScales as HinfScales, HinfWeights as HinfWeights, Lag as Lag, hinf as hinf
from .design.observer import Estimates as Estimates, Observer as Observer, observer as observer
from .design.optimal import (
    OptimalCommand as OptimalCommand,
    OptimalTorque as OptimalTorque,
    bound as bound,
    load_command as load_command,
)
from .design.planned_command import PlannedCommand as PlannedCommand
from .design.pd import joint_pd as joint_pd, rigid_and_bending as rigid_and_bending
from .design.pid import PidGains as PidGains, pid as pid, pid_gains as pid_gains
from .design.recipes import (
    bryson as bryson,
    held_frequency as held_frequency,
    hinf_weights as hinf_weights,
    shaping_gains as shaping_gains,
)
from .design.servo import (
    Servo as Servo,
    design_servos as design_servos,
    servo_law as servo_law,
    servo_rule as servo_rule,
    with_servo as with_servo,
)
from .design.shaping import (
    Shaper as Shaper,
    optimised_shaper as optimised_shaper,
    shaped as shaped,
    shaper as shaper,
    shaper_for as shaper_for,
)
from .design.strain import strain_feedback as strain_feedback
from .design.tracking import (
    TrackingGains as TrackingGains,
    gains_by_period as gains_by_period,
    pd_gains as pd_gains,
    tip_tracking as tip_tracking,
)
from .design.valve import (
    ValveServo as ValveServo,
    lead_servo as lead_servo,
    proportional_servo as proportional_servo,
    valve_law as valve_law,
)
from .design.vibration import VibrationWeights as VibrationWeights, vibration_damping as vibration_damping

# Simulation: a law on the full model
from .kernels.schemes import (
    Scheme as Scheme,
    broyden as broyden,
    generalised_alpha as generalised_alpha,
    modified_newton as modified_newton,
    newmark as newmark,
    sdirk as sdirk,
    settled as settled,
    trapezoidal as trapezoidal,
)
from .simulation.cautions import OutsideDesign as OutsideDesign
from .simulation.compare_methods import compare_methods as compare_methods
from .simulation.inverse import InverseDynamics as InverseDynamics, inverse_dynamics as inverse_dynamics
from .simulation.mode_filter import (
    flexible_part as flexible_part,
    mode_bands as mode_bands,
    separate_modes as separate_modes,
)
from .simulation.path_stability import (
    HiddenInstability as HiddenInstability,
    PathStability as PathStability,
    path_stability as path_stability,
    stability_over_damping as stability_over_damping,
)
from .simulation.response import Response as Response
from .simulation.rigid_prescribed import prescribed_response as prescribed_response
from .simulation.scores import settling_time as settling_time
from .simulation.simulate import simulate as simulate

# Identification: models from measurements
from . import identify as identify

# Judging: scenarios of a controller script, certificates, comparisons, sweeps
from .judging.certify import Certificate as Certificate, certify as certify
from .judging.certify.robust import bisected as bisected, payload_bound as payload_bound
from .judging.compare import Comparison as Comparison, compare as compare
from .judging.along import FastestAlong as FastestAlong, fastest_along as fastest_along
from .judging.fastest import optimal_command as optimal_command
from .judging.learning import Learnt as Learnt, learn as learn
from .judging.scenario import (
    Scenario as Scenario,
    main as main,
    moves_with_payloads as moves_with_payloads,
    robustness as robustness,
    run_scenarios as run_scenarios,
)
from .judging.sweep import Span as Span, Table as Table, sweep as sweep
from .judging.tracking_scenarios import tracking_scenario as tracking_scenario
from .judging.tuning import Knob as Knob, Tuned as Tuned, tune as tune
from .judging.swinging import SwingStability as SwingStability, swing_stability as swing_stability
from .judging.validity import LinearValidity as LinearValidity, linear_validity as linear_validity
from .judging.variations import frequency_variations as frequency_variations, rest_references as rest_references

# Borders: files, python-control, pictures
from .io import plot as plot
from .io.animate import animate as animate, animate_mode as animate_mode
from .io.report import report as report
from .io.python_control import (
    from_control as from_control,
    load_linear as load_linear,
    nonlinear as nonlinear,
    save_linear as save_linear,
)

from .export import (
    Exported as Exported,
    export_law as export_law,
    export_plant as export_plant,
)
from .export.compiled_c import compiled_c as compiled_c
from .export.precision import SinglePrecision as SinglePrecision, single_precision as single_precision

# Errors and warnings
from .errors import (
    AccuracyWarning as AccuracyWarning,
    Caution as Caution,
    ConvergenceError as ConvergenceError,
    DataWarning as DataWarning,
    DefinitionError as DefinitionError,
    FlexctlError as FlexctlError,
    NotAvailable as NotAvailable,
    OutOfMemory as OutOfMemory,
    WriteError as WriteError,
)

__version__: str
