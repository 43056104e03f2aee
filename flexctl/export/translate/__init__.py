"""Compiled Python to C: the kernels of a time loop as one C file, so that an arm runs where there is no Python.

The kernels are written in a small part of Python: loops and branches over numbers, arrays, and groups of these. What a
function is called with says what every name in it is (`types`), so each function becomes one C function per set of
types, as in numba. Statements and expressions are translated one by one, in their order; nothing is optimised, and what
is not known to be translated right is refused (`Untranslatable`), naming function and line.

`program.translated` makes the C text of a function and of all that it calls.
"""
