"""A law on the full model: the time grid, the engines, what comes out and how accurate it is."""
