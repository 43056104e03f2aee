"""
A hydraulic cylinder and its servo
==================================

From command to angle of the lower link of RALF, whatever the arm does: a higher gain of the position loop is
faster until the oil rings.
"""

import flexctl as fx

loops = {}
for gain in (20.0, 50.0, 100.0):
    joint = fx.load_plant("ralf", overrides={"joint.1.hydraulic_gain": gain}).arm.joints[0]
    cylinder = fx.HydraulicActuator.of(joint)
    loops[f"{gain:g} 1/s, phase margin {cylinder.margins().phase_margin_deg:.0f} deg"] = cylinder.system()
figure = fx.plot.bode(loops)
