"""
Asking for too much
===================

60 degrees in half a second need more than 0.3 N m. The law alone saturates and fails; the governor slows the
reference by as much as is needed.
"""

import flexctl as fx

script = fx.load_controller("tokhi_azad_governor")
runs = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=["60 deg, 10 g", "LQG alone, 10 g"])
figure = fx.plot.compare({item.name: run for item, run in runs}, ["chord1_angle", "joint1_torque"])
