"""Measurements: run them as modules from the root of the project."""
