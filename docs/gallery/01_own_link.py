"""
A plant file, and its Bode plot
===============================

The link of *your own arm in 15 minutes*. The grid of a frequency response contains every lightly damped peak,
however narrow.
"""

import flexctl as fx

link = fx.load_plant("my_link.toml")  # the file of that page
plant = link.linearise()
print(plant.modes(3))

channels = [("joint1_angle", "joint1_voltage"), ("chord1_angle", "joint1_voltage")]
figure = fx.plot.bode({"my_link": plant.frequency_response()}, channels=channels)
