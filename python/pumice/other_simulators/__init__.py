"""Configurations of other simulators as specs."""
