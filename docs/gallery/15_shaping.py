"""
Shaped commands
===============

Bang-bang torque excites every mode. The same through a two-mode ZVD shaper leaves the arm at rest, and a first
mode that is 10 % lower than thought leaves little.
"""

import flexctl as fx

script = fx.load_controller("tokhi_azad_shaped")
only = ["unshaped, 0 g", "ZVD, 0 g", "ZVD at -10 %, 0 g"]
runs = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=only)
figure = fx.plot.compare({item.name: run for item, run in runs}, ["chord1_angle", "joint1_torque"])
