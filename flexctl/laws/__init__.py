"""Control laws: each file holds one idea as a design function and, where needed, a controller.

A sampled controller is called once per `sample_time`; its command is held in between. Its state is passed, not stored,
so runs repeat and sweeps parallelise.
"""
