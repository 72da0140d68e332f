"""The workbench: the runs of a folder in a browser on this machine, read-only."""
