"""
A hydraulic cylinder and its servo
==================================

Open loop, closed loop with a gain, and what a lead compensator reaches with the same sensor.
"""

import flexctl as fx

cylinder = fx.HydraulicActuator.of(fx.load_plant("ralf").arm.joints[0])
print(f"bandwidth {cylinder.bandwidth:.1f} Hz, phase margin {cylinder.margins().phase_margin_deg:.0f} deg")
open_loop, closed_loop = fx.from_control(cylinder.open_loop()), fx.from_control(cylinder.system())
plants = {"valve to angle": open_loop, "command to angle": closed_loop}
figure = fx.plot.bode(plants)
