"""
Two masses and a spring that may vary
=====================================

The benchmark of 1990: an impulse on either mass, with springs a factor of four apart. The law of four states is the
same for all of them.
"""

import flexctl as fx

script = fx.load_controller("two_mass_fixed")
arm = fx.load_plant(script.PLANT)
springs = ["impulse on the second, k = 0.5", "impulse on the second", "impulse on the second, k = 2"]
runs = fx.run_scenarios(script, arm, only=springs)
figure = fx.plot.compare({item.name: run for item, run in runs}, ["joint1_angle", "joint1_torque"])
