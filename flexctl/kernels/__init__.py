"""Compiled pieces that every formulation shares; `jit` is how all code is compiled and kept on disk."""
