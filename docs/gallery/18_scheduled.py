"""
A law for every pose
====================

The plant changes with the elbow. Scheduled over its angle, four designs make one law; each of them alone fails
in some pose.

The joints have no hubs: where torques jump, their rates ring at hundreds of hertz, which is what the warnings name. The
frozen law does not come to rest, and its strains are less certain too.
"""

import flexctl as fx

script = fx.load_controller("planar_2r_scheduled")
runs = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=["scheduled, 250 g", "frozen at 50 deg, 250 g"])
figure = fx.plot.compare({item.name: run for item, run in runs}, ["joint1_angle", "joint2_angle", "tip_error_y"])
