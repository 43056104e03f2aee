"""
The torque that the tip needs
=============================

Stable inversion finds the torque, some of it before the move begins, for which the tip follows exactly.
"""

import flexctl as fx

script = fx.load_controller("tokhi_azad_inversion")
runs = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=["5 deg, known, 10 g", "5 deg, unknown, 20 g"])
named = {item.name: run for item, run in runs}
figure = fx.plot.compare(named, ["chord1_angle", "error:chord1_angle", "joint1_torque"])
