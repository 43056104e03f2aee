"""
Learning on a nonlinear arm
===========================

60 degrees of shoulder and 150 degrees of elbow, with half a kilogram that the law does not know. The learning filter
changes with the elbow; five runs take the error of the joints from 63 to 4 mrad.
Warnings are about the rates of the joints, which have no hubs and ring where torques jump; angles are right.
"""

import flexctl as fx

script = fx.load_controller("planar_2r_learning")
found = script.learnt(fx.load_plant(script.PLANT), mass=0.5)
figure, axes = fx.plot.subplots(1, 1, size=(5.0, 3.4))
for joint in script.JOINTS:
    axes.plot([1e3 * run[joint] for run in found.errors], marker="o", label=joint)
axes.set(xlabel="run", ylabel="largest error [mrad]", xticks=range(len(found.errors)), ylim=(0, None))
axes.legend()
