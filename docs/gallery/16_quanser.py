"""
A laboratory's link and joint
=============================

The Quanser flexible link and the flexible joint, 30 degrees by motor voltage.
"""

import flexctl as fx

runs = {}
for name in ("quanser_link_pd", "quanser_link_lqg", "quanser_joint_lqg"):
    script = fx.load_controller(name)
    arm = fx.load_plant(script.PLANT)
    first = script.scenarios(arm)[0].name
    ((_, run),) = fx.run_scenarios(script, arm, only=[first])
    runs[name] = {first: run}
figure = fx.plot.compare(runs, ["joint1_angle", "chord1_angle", "joint1_voltage"], titled=True)
