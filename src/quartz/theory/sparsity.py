"""Average sparsity: one number in place of all omega_j, which the paper defines implicitly."""

import numpy as np

from quartz import checks
from quartz.arrays import Floats
from quartz.data import Blocks


def omega_tilde(data: Blocks, tau: int, gamma: Floats = 1.0) -> float:
    """The average sparsity omega_tilde of [a-Tgeqtaunice2xxx], in [1, n].

    It solves max_i lambda_max(sum_j (1 + (omega_j - 1) b) A_ji' A_ji)
    = (1 + (omega_tilde - 1) b) max_i lambda_max(A_i' A_i) with b = (tau - 1) / (n - 1). Inside
    the maximum both sides are divided by gamma_i.
    """
    checks.count("n", data.n, 2, None, "With one example there is nothing to average.")
    checks.count("tau", tau, 2, data.n, "With tau = 1 any number would do.")
    return _average(data, (tau - 1) / (data.n - 1), gamma)


def omega_hat(data: Blocks, nodes: int, tau: int, gamma: Floats = 1.0) -> float:
    """The average sparsity of [eq:s98s98hsdjj], with b = (tau - 1) / (n/c - 1) and c = `nodes`."""
    checks.count("nodes", nodes, 1, data.n // 2, "Each node needs two examples or more.")
    checks.count("tau", tau, 2, data.n // nodes, "With tau = 1 any number would do.")
    return _average(data, (tau - 1) / (data.n / nodes - 1), gamma)


def _average(data: Blocks, b: float, gamma: Floats) -> float:
    largest = float(np.max(data.squared_norms() / gamma))
    checks.positive("the largest norm of the data", largest, "All examples are empty.")
    weighted = float(np.max(data.squared_norms(1 + (data.row_sums() - 1) * b) / gamma))
    return 1 + (weighted / largest - 1) / b
