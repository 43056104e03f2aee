"""Where what stands in the constants and readings of a driven joint: numbers alone, read without numba."""

LINK, MOTOR, CHARGE, BRISTLE, SLOTS = range(5)
NONE, TORQUE, CURRENT, VOLTAGE, WINDING, SERVO, LED = range(7)
"""Kinds of input: nothing, a torque, a current, a voltage (L = 0), a voltage (L > 0), commanded angle and rate, the
acceleration of the motor's side of a flexible joint."""
RIGID, TANH, BRISTLES = 0.0, 1.0, 2.0
(
    INPUT, FLEXIBLE, FRICTION, INERTIA, VISCOUS, COULOMB, STATIC, STRIBECK, CREEP, STIFF, SOFT, SPRING, CUBIC, DAMPER,
    PLAY, ROUND, PUSH, BACK, RESISTANCE, INDUCTANCE, CURRENTS, VOLTS, GEAR, KP, KV, CONSTANTS,
) = range(26)
"""Places in the constants of a joint; see `models.wrappers.drive.constants`."""
CURRENT_READING, TORQUE_READING, FRICTION_READING, READINGS = range(4)
"""The first is the torque that the motor needs where its side is led, which has no current."""

(
    LINK_LINK, MOTOR_LINK, MOTOR_MOTOR, MOTOR_CHARGE, CHARGE_MOTOR, CHARGE_CHARGE, MOTOR_BRISTLE, BRISTLE_MOTOR,
    BRISTLE_BRISTLE, MOTOR_BY_FIRST, MOTOR_BY_SECOND, CHARGE_BY_FIRST, CURRENT_BY_RATE, CURRENT_BY_FIRST,
    FRICTION_BY_RATE, FRICTION_BY_BRISTLE, ALL,
) = range(17)
"""Places in what a joint does: its matrix, row and column, then derivatives of the left sides by both inputs, and of
the readings. Of a rigid joint the link stands for the motor, and the first two are empty. The spring alone couples link
and motor: (link, motor) is (link, link) with the other sign. What is not here is zero."""
