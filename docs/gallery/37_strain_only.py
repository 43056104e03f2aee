"""
Without a tip sensor
====================

Encoder and a strain gauge at the root, and what the observer makes of the tip with a payload that it does not know:
with the 10 g of its design, and with 20 g.
"""

import numpy as np

import flexctl as fx

script = fx.load_controller("tokhi_azad_strain")
arm = fx.load_plant(script.PLANT)
watcher = script.observer(arm)
figure, (tip, error) = fx.plot.subplots(1, 2, size=(9.0, 3.4))
for item, run in fx.run_scenarios(script, arm, only=["5 deg, 10 g", "5 deg, 20 g"]):
    seen = watcher.over(run)
    tip.plot(run.t, np.degrees(run["chord1_angle"]), label=item.name)
    error.plot(seen.t, 960.0 * (seen["chord1_angle"] - seen["truth:chord1_angle"]), label=item.name)
tip.set(xlabel="time [s]", ylabel="angle of the tip [deg]")
error.set(xlabel="time [s]", ylabel="error of the estimate [mm]")
for axes in (tip, error):
    axes.legend()
