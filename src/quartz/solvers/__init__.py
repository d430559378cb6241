"""Solvers: `iterate` and `solve`, engines compiled and for reference."""

from quartz.solvers.driver import solve
from quartz.solvers.iteration import iterate
from quartz.solvers.plan import Plan
from quartz.solvers.result import Result, Status, Trace
from quartz.solvers.state import State

__all__ = ["Plan", "Result", "State", "Status", "Trace", "iterate", "solve"]
