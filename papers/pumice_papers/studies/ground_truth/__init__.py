"""The simulator beside closed forms, and its speed by device size."""
