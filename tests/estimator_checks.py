"""scikit-learn's checks of estimators, as we run them."""

import warnings

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning


def run_check(estimator, check):
    """Run a check; where it compares digits, on problems that are solved to rounding."""
    if "sample_weight_equivalence" in check.func.__name__:
        # seven digits of two runs: the same for equal problems if nothing is left to do
        strong = {"alpha": 1.0, "alphas": [1.0], "C": 1e-2, "tol": 0, "max_passes": 300}
        strong["max_iter"] = 300
        known = estimator.get_params()
        estimator = clone(estimator).set_params(**{k: v for k, v in strong.items() if k in known})
        warnings.simplefilter("ignore", ConvergenceWarning)
    check(estimator)
