"""Data placement: write amplification of real drives with flexible data placement (FDP), by their own counters."""
