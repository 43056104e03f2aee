"""
From a record to a modal model
==============================

A synthetic record with encoder noise, its frequency response with standard deviations, and the poles of every
order.
"""

import flexctl as fx
from flexctl import identify

arm = fx.load_plant("tokhi_azad_1994", overrides={"damping": {"kind": "modal", "ratio": 0.01}})
made = identify.multisine(arm, band=(0.5, 60.0), limit=0.1)
record = identify.measure(arm, made, outputs=("joint1_angle",), encoder=20)
figure = fx.plot.record(record)
response = identify.frf(record)
fit = identify.modal(response)
measured = fx.plot.frequency_fit(response)
stabilised = fx.plot.stabilisation(fit)
