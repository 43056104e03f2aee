"""Compiled kernels of the formulations, a few files for each; `flexctl.kernels.jit` compiles them.

A formulation's files: `state` (constants, scratch, what stands where), `element`, `solve`, `sensors`, and `operations`,
which has the method in words and hands all of it to the common step.
"""
