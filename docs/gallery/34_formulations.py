"""
Several models, one arm
=======================

The same plant file in other formulations, against the arm without a mesh.
"""

import numpy as np

import flexctl as fx

name = "planar_2r_flexible"
exact = fx.TransferMatrixArm(fx.load_plant(name)).natural_frequencies(5) / (2 * np.pi)
figure, axes = fx.plot.subplots()
for kind, size in (("timoshenko_planar", "elements"), ("ancf", "elements"), ("finite_segment", "segments")):
    counts = (4, 8, 16, 32)
    models = [fx.load_plant(name, model={"kind": kind, size: n}) for n in counts]
    error = [abs(model.modes(1).frequencies_hz[0] / exact[0] - 1.0) for model in models]
    axes.loglog(counts, error, "o-", label=kind)
axes.set(xlabel="elements or segments per link", ylabel="relative error of the first frequency")
axes.legend()
