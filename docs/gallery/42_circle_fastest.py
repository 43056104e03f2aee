"""
The soonest circle
==================

The same circle within the same torques: at constant speed, eased at both ends, and as fast as the torques allow, with
joints that lead by what the links bend. Errors are magnified beside the true path.
"""

import flexctl as fx

script = fx.load_controller("tian_circle_fastest")
runs = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=["circle", "circle at constant speed"])
named = {item.name: run for item, run in runs}
figure = fx.plot.tip_path(named)
torques = fx.plot.compare(named, ["joint1_torque", "joint2_torque"])
