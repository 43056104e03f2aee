"""Compiled inner loops: pure functions, no closures, kernels that call each other share a file.

numba's disk cache does not notice an edit in a callee of another file, and recompiles in every process what receives a
jitted function implicitly or closes over one. Whole-model functions are therefore passed as typed function pointers.
"""

REFRESH = 0.05
"""With closures the iteration matrix is kept within a step while corrections shrink faster than this."""
