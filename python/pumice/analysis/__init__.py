"""Statistics of results, and every kind of plot."""
