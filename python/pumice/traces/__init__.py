"""Traces: read as columns, written from workloads, repeated, and drawn."""
