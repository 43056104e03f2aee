"""
Corners
=======

A square at constant speed asks for jumps of the velocity. Stopping at the corners, or easing into them, costs
little time and most of the error.

The arm of the first picture has no damping: where the velocity is asked to jump, torques and deflections ring on for
good, at frequencies that no step resolves. That is what the warning says, of this one run.
"""

import flexctl as fx

script = fx.load_controller("tian_square_eased")
runs = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=["constant speed, feedforward", "0.1 s, feedforward"])
figure = fx.plot.tip_path({item.name: run for item, run in runs})

script = fx.load_controller("tip_square")
arm = fx.load_plant(script.PLANT, overrides={"model.elements": 2})
runs = fx.run_scenarios(script, arm, only=["stops, PD", "stops, feedforward"])
stops = fx.plot.tip_errors({item.name: run for item, run in runs})
