"""
A law for every pose
====================

The plant changes with the elbow. Scheduled over its angle, four designs make one law; each of them alone fails
in some pose.
"""

import flexctl as fx

script = fx.load_controller("planar_2r_scheduled")
runs = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=["scheduled, 250 g", "frozen at 50 deg, 250 g"])
figure = fx.plot.compare({item.name: run for item, run in runs}, ["joint1_angle", "joint2_angle", "tip_error_y"])
