"""
The five pictures of a tracking run
===================================

The paper's PD in two periods, on encoders.
"""

import flexctl as fx

script = fx.load_controller("tian_two_phase")
((_, run),) = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=["circle, encoders"])
pictures = fx.plot.tracking(run)
