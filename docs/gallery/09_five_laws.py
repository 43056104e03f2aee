"""
Five laws, one move
===================

5 degrees in 0.4 s with 10 g at the tip: a PD on the hub against four laws that know the first modes.
"""

import flexctl as fx

names = ("tokhi_azad_pd", "tokhi_azad_lqg", "tokhi_azad_hinf", "tokhi_azad_loop_shaping", "tokhi_azad_ppf")
arm = fx.load_plant("tokhi_azad_1994")
runs = {}
for name in names:
    script = fx.load_controller(name)
    wanted = "60 deg, 10 g" if name.endswith("ppf") else "5 deg, 10 g"
    ((_, run),) = fx.run_scenarios(script, arm, only=[wanted])
    runs.setdefault(wanted, {})[name] = run
figure = fx.plot.compare(runs, ["chord1_angle", "joint1_torque"], titled=True)
