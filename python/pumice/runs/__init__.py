"""Simulations: what to run (specs, grids, sweeps), how it is run, and where results are kept."""
