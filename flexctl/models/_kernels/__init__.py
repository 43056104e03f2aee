"""Compiled inner loops: pure functions. What goes through `flexctl.kernels.jit` may call across files and be a closure.

What is still decorated by plain `njit` must not: numba's disk cache does not notice an edit in a callee of another
file, and recompiles in every process what receives a jitted function implicitly or closes over one.
"""

REFRESH = 0.05
"""With closures the iteration matrix is kept within a step while corrections shrink faster than this."""
