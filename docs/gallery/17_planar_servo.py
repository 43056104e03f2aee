"""
Servos of an elastic arm
========================

The faster the servo, the less the joints give way, and the more the links ring.
"""

import flexctl as fx

script = fx.load_controller("planar_2r_servo")
only = ["f0/2, 0 g", "f0", "4 f0", "f0/2, feedforward"]
runs = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=only)
figure = fx.plot.compare({item.name: run for item, run in runs}, ["tip_error_x", "tip_error_y"])
