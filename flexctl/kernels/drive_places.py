"""Where what stands in the constants and readings of a driven joint: numbers alone, read without numba."""

LINK, MOTOR, CHARGE, BRISTLE, SLOTS = range(5)
NONE, TORQUE, CURRENT, VOLTAGE, WINDING, SERVO = range(6)
"""Kinds of input: nothing, a torque, a current, a voltage (L = 0), a voltage (L > 0), commanded angle and rate."""
RIGID, TANH, BRISTLES = 0.0, 1.0, 2.0
(
    INPUT, FLEXIBLE, FRICTION, INERTIA, VISCOUS, COULOMB, STATIC, STRIBECK, CREEP, STIFF, SOFT, SPRING, CUBIC, DAMPER,
    PLAY, ROUND, PUSH, BACK, RESISTANCE, INDUCTANCE, CURRENTS, VOLTS, GEAR, KP, KV, CONSTANTS,
) = range(26)
"""Places in the constants of a joint; see `models.wrappers.drive.constants`."""
CURRENT_READING, TORQUE_READING, FRICTION_READING, READINGS = range(4)
