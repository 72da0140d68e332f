"""PEN (FAST'18): partial erase by M-Merge."""
