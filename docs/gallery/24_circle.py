"""
The tip on a circle
===================

A two-link arm in absolute nodal coordinates, PD alone and with feedforward and tip integral. Errors are
magnified beside the true path.
"""

import flexctl as fx

script = fx.load_controller("tian_feedforward_tip")
runs = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=["PD", "feedforward and tip"])
named = {item.name: run for item, run in runs}
figure = fx.plot.tip_path(named)
errors = fx.plot.tip_errors(named)
