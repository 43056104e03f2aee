"""
The same, moving
================

Links drawn as the run has them, their bending magnified.
"""

import flexctl as fx

script = fx.load_controller("tip_circle")
arm = fx.load_plant(script.PLANT, overrides={"model.elements": 2})
((_, run),) = fx.run_scenarios(script, arm, only=["feedforward"])
fx.animate(run, script.track(arm), "circle.gif", frames=50, seconds=5.0)
