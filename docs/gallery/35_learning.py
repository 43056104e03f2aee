"""
Learning from run to run
========================

The tip follows a 60 degree move. What is added to the torque is corrected after every run by the error of the last
one, through a filter made from nine models: the dashed line is how fast it falls at least, known before the first run.
"""

import numpy as np

import flexctl as fx

script = fx.load_controller("tokhi_azad_learning")
arm = fx.load_plant(script.PLANT)
figure, (errors, torques) = fx.plot.subplots(1, 2, size=(9.0, 3.4))
for name in ("0 g", "20 g"):
    found = script.learnt(arm, name)
    fallen = np.array([960.0 * run["chord1_angle"] for run in found.errors])  # mm at the tip
    errors.semilogy(fallen, marker="o", label=name)
    added = found.filter.sample_time * np.arange(found.values.shape[1])
    torques.plot(added, found.values[0], label=f"{name}, after run {found.best}")
errors.semilogy(fallen[0] * found.filter.rate ** np.arange(len(fallen)), "k--", label="certified")
errors.set(xlabel="run", ylabel="largest error of the tip [mm]")
torques.set(xlabel="time [s]", ylabel="torque that is added [N m]")
for axes in (errors, torques):
    axes.legend()
