"""
A page that moves
=================

Every run, design and certificate can be written as one page that opens in any browser without a network.
"""

import flexctl as fx

script = fx.load_controller("tokhi_azad_lqg")
arm = fx.load_plant(script.PLANT)
law = script.design(arm)
((_, run),) = fx.run_scenarios(script, arm, controller=law, only=["5 deg, 10 g"], record_states=True)
fx.report({"5 deg, 10 g": run}, "tokhi_azad_lqg.html", design=law, plant=arm)
figure = fx.plot.run(run, ["chord1_angle", "joint1_torque"])
