"""The paper's theory as functions, and the bounds of accelerated Quartz."""

from quartz.theory.accelerated import (
    accelerated_gap,
    accelerated_leading_term,
    accelerated_nice,
    proximal_strength,
)
from quartz.theory.bounds import (
    apcg,
    asdca,
    disdca,
    disdca_practical,
    iprox_sdca,
    leading_terms,
    quartz_beats_accelerated,
    regime_table,
    saga,
    sdca,
    sdca_iterations,
    spdc,
)
from quartz.theory.rate import expected_gap, iterations, leading_term, theta
from quartz.theory.sparsity import omega_hat, omega_tilde
from quartz.theory.speedup import (
    distributed_leading_bound,
    distributed_leading_term,
    distributed_speedup,
    nice_largest_v,
    nice_leading_term,
    nice_speedup,
    nice_speedup_bounds,
    overlap_inequalities,
    partition_effect,
)

__all__ = [
    "accelerated_gap",
    "accelerated_leading_term",
    "accelerated_nice",
    "apcg",
    "asdca",
    "disdca",
    "disdca_practical",
    "distributed_leading_bound",
    "distributed_leading_term",
    "distributed_speedup",
    "expected_gap",
    "iprox_sdca",
    "iterations",
    "leading_term",
    "leading_terms",
    "nice_largest_v",
    "nice_leading_term",
    "nice_speedup",
    "nice_speedup_bounds",
    "omega_hat",
    "omega_tilde",
    "overlap_inequalities",
    "partition_effect",
    "proximal_strength",
    "quartz_beats_accelerated",
    "regime_table",
    "saga",
    "sdca",
    "sdca_iterations",
    "spdc",
    "theta",
]
