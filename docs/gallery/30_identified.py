"""
From a record to a modal model
==============================

A synthetic record with encoder noise, its frequency response with standard deviations, and the poles of every
order.
"""

import flexctl as fx
from flexctl import identify

arm = fx.load_plant("tokhi_azad_1994", overrides={"damping": {"kind": "modal", "ratio": 0.01}})
made = identify.multisine("joint1_torque [N m]", (0.5, 60.0), limit=0.1, period=8.0, dt=2e-3, periods=3)
record = identify.measure(arm, made, ["joint1_angle"], noise={"joint1_angle": 2e-4})
figure = fx.plot.record(record)
response = identify.frf(record)
fit = identify.modal(response, most=6)
measured = fx.plot.frequency_fit(response, fit.plant.transfer(1j * response.omega))
stabilised = fx.plot.stabilisation(fit)

rates = identify.measure(arm, made, ["joint1_rate"], noise={"joint1_rate": 1e-2})
fitted = fx.plot.time_fit(identify.subspace(rates, 8), rates)
