"""Real drives beside simulated ones: write amplification by counters, and the clock of requests."""
