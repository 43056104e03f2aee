"""
The five pictures of a tracking run
===================================

The paper's PD in two periods, on encoders. The path starts with a jump of the velocity, and nothing damps the arm: it
rings on through the whole run, and the paper's steps of 2 ms do not resolve the fast part, as the warning says. The
errors that one sees grow and shrink over seconds are right.
"""

import flexctl as fx

script = fx.load_controller("tian_two_phase")
((_, run),) = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=["circle, encoders"])
pictures = fx.plot.tracking(run)
