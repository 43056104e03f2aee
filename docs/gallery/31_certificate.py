"""
A certificate in one picture
============================

Poles, spill-over, payloads and stiffnesses, the robust bound, encoders, amplitudes, and the run.
"""

import flexctl as fx

certificate = fx.certify("tokhi_azad_pd", bits=(12, 16), workers=1)
print(certificate.holds)
figure = fx.plot.certificate(certificate)
