"""Published experiments, run again and set beside the published results."""
