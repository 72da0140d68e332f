"""Power cuts: how long devices take to recover, and what that costs while they run."""
