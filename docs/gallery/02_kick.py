"""
See it move
===========

The same link, kicked by 5 V for 0.3 s, on the full nonlinear model. Between its ends the ruler is drawn as a
cantilever.
"""

import numpy as np

import flexctl as fx

link = fx.load_plant("my_link.toml")
kick = {"joint1_voltage": fx.PiecewiseConstant((0.3,), (5.0, 0.0))}
run = fx.simulate(link, inputs=kick, duration=1.0)

figure, (arm, side) = fx.plot.subplots(1, 2, size=(9.0, 4.2))
s = np.linspace(0.0, 1.0, 30)
bent = 0.5 * s**2 * (3.0 - s)
for k in np.linspace(0, run.t.size - 1, 25).astype(int):
    angle, deflection = run["joint1_angle"][k], run["link1_deflection"][k]
    x, y = 0.381 * s, deflection * bent
    arm.plot(
        x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle),
        color="C0", alpha=0.2 + 0.8 * k / run.t.size,
    )
arm.set(aspect="equal", xlabel="x [m]", ylabel="y [m]")
side.plot(run.t, 1e3 * run["link1_deflection"])
side.set(xlabel="time [s]", ylabel="deflection of the end [mm]")
