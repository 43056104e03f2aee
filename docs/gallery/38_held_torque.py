"""
What a hold does to a command
=============================

A sampled law holds its torque from one millisecond to the next: the staircase of 5 degrees, from 20 to 40 ms.
"""

import flexctl as fx

script = fx.load_controller("tokhi_azad_hinf")
((_, run),) = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=["5 deg, 10 g"])
figure, axes = fx.plot.subplots(1, 1, size=(5.0, 3.4))
fx.plot.step_lines(axes, run.t, run["joint1_torque"])
axes.set(xlabel="time [s]", ylabel="torque [N m]", xlim=(0.02, 0.04), ylim=(0.08, 0.15))
