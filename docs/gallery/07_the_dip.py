"""
The tip first goes back
=======================

What a zero on the right half-plane means: a forward torque sends the tip back by a little before it comes.
"""

import flexctl as fx

arm = fx.load_plant("tokhi_azad_1994")
run = fx.simulate(arm, inputs={"joint1_torque": fx.bang_bang(0.1, 0.3)}, duration=0.08, step=2e-4)
figure, axes = fx.plot.subplots()
for name, label in (("joint1_angle", "hub"), ("chord1_angle", "tip")):
    axes.plot(1e3 * run.t, 1e3 * run[name], label=label)
axes.set(xlabel="time [ms]", ylabel="angle [mrad]")
axes.legend()
