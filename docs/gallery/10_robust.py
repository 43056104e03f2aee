"""
One law for every payload
=========================

The robust LQG with payloads of 0 to 20 g: designed once, for 10 g.
"""

import flexctl as fx

script = fx.load_controller("tokhi_azad_robust")
only = ["5 deg, 0 g", "5 deg, 10 g", "5 deg, 20 g"]
runs = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=only)
named = {item.name: run for item, run in runs}
figure = fx.plot.compare(named, ["chord1_angle", "error:chord1_angle", "joint1_torque"])
