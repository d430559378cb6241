"""Compiled kernels: plain functions with placeholders, specialized and compiled by `compile`."""
