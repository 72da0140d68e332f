"""Power cuts: how long devices take to start anew, and what that costs while they run."""
