"""A run in parts: arguments (`solve`), loop, schedule of certificates, stopping rules, budget."""

from quartz.run.result import Result, Status, Trace
from quartz.run.solver import solve
from quartz.run.start import Start
from quartz.run.stopping import AbsoluteGap, RelativeGap, StoppingRule, When

__all__ = [
    "AbsoluteGap",
    "RelativeGap",
    "Result",
    "Start",
    "Status",
    "StoppingRule",
    "Trace",
    "When",
    "solve",
]
