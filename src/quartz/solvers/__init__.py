"""Solvers: `iterate` and `solve`, and the reference implementation of Algorithm 1."""

from quartz.solvers.driver import iterate, solve
from quartz.solvers.plan import Plan
from quartz.solvers.result import Result, Status, Trace
from quartz.solvers.state import State

__all__ = ["Plan", "Result", "State", "Status", "Trace", "iterate", "solve"]
