"""
The whole arm over time
=======================

Bang-bang torque, 0.3 s each way, on the finite-difference arm: displacement of every section, as the report of
1994 draws it.
"""

import numpy as np

import flexctl as fx

arm = fx.load_plant("tokhi_azad_1994")
run = fx.simulate(arm, inputs={"joint1_torque": fx.bang_bang(0.1, 0.3)}, duration=1.2, record_states=True)
columns = [i for i, signal in enumerate(run.coordinates) if signal.name.startswith("y")]
stations = np.linspace(0.0, 0.96, len(columns) + 1)[1:]
figure = fx.plot.surface(run.t[::10], stations, run.q[::10][:, columns])
