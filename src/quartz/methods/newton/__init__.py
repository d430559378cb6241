"""Newton's method for L2: all rows, or samples of them first; `method` tells the whole story."""

from quartz.methods.newton.method import Newton, NewtonSteps, applies

__all__ = ["Newton", "NewtonSteps", "applies"]
