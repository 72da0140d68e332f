"""One M-Merge at a time: the states of two blocks, the plan, and the plan as text."""
