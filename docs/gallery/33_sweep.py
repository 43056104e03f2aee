"""
A sweep over two parameters
===========================

The first frequency over payload and length, and a picture of your own in the style of the others.
"""

import numpy as np

import flexctl as fx

arm = fx.load_plant("tokhi_azad_1994")
figure, axes = fx.plot.subplots()
for length in (0.8, 0.96, 1.2):
    grams = np.linspace(0.0, 80.0, 9)
    first = [arm.with_({"link.1.length": length, "payload.mass": g / 1e3}).modes(1).frequencies_hz[0] for g in grams]
    axes.plot(grams, first, "o-", label=f"{length} m")
axes.set(xlabel="payload [g]", ylabel="first frequency [Hz]")
axes.legend()
