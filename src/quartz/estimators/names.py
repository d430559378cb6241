"""What the names in the estimators' parameters stand for."""

from collections.abc import Callable
from typing import Any

import numpy as np

from quartz import checks, losses, regularizers, samplings
from quartz.arrays import IntArray

CLASSIFIERS: dict[str, Callable[..., Any]] = {
    "hinge": lambda smoothing: losses.Hinge(),
    "squared_hinge": lambda smoothing: losses.SquaredHinge(gamma=0.5),
    "smoothed_hinge": lambda smoothing: losses.SmoothedHinge(smoothing),
    "log_loss": lambda smoothing: losses.Logistic(),
    "multinomial": lambda smoothing: losses.Softmax(),
    "multiclass_hinge": lambda smoothing: losses.SmoothedMulticlassHinge(smoothing),
}
REGRESSORS: dict[str, Callable[..., Any]] = {
    "squared": lambda smoothing, epsilon: losses.Squared(),
    "huber": lambda smoothing, epsilon: losses.Huber(smoothing),
    "epsilon_insensitive": lambda smoothing, epsilon: losses.EpsilonInsensitive(epsilon),
    "absolute": lambda smoothing, epsilon: losses.Absolute(),
}
QUADRATIC = "Without a quadratic part there is no certificate by this method. Try 0.99."
PENALTIES = ("l2", "elasticnet", "nonnegative", "group")
SAMPLINGS: dict[str, Any] = {
    "auto": None,
    "permuted": "permuted",
    "uniform": samplings.Uniform(),
    "importance": samplings.Importance(),
    "nice": samplings.Nice(batch_size=32),
}


def loss_of(name: Any, known: dict[str, Callable[..., Any]], **parameters: float) -> Any:
    """The loss of that name; a loss object stands for itself."""
    if not isinstance(name, str):
        return name
    return _choose("loss", name, known)(**parameters)


def sampling_of(name: Any) -> Any:
    """The sampling of that name, None for the automatic choice; an object stands for itself."""
    return _choose("sampling", name, SAMPLINGS) if isinstance(name, str) else name


def intercept_of(fit_intercept: Any) -> Any:
    """What `fit_intercept` means to a Problem."""
    if isinstance(fit_intercept, bool | np.bool_):
        return "free" if fit_intercept else None
    if isinstance(fit_intercept, str) and fit_intercept == "penalized":
        return "penalized"
    raise ValueError(
        f'fit_intercept must be True (unpenalized), "penalized" or False, got {fit_intercept!r}.'
    )


def penalty_of(
    name: Any, alpha: float, l1_ratio: float, groups: Any, features: int, extra: int, outputs: int
) -> tuple[float, Any]:
    """lam and the regularizer g, for which lam g is the penalty.

    Parameters
    ----------
    name : str or regularizer
    alpha, l1_ratio : float
        alpha (l1_ratio ||w||_1 + (1 - l1_ratio) / 2 ||w||^2), with the norms of groups for "group".
    groups : array of shape (features,)
        For "group".
    features, extra, outputs : int
        Sizes: coordinates of a penalized intercept, 0 or 1, and outputs with weights in common.
    """
    if name is None:
        raise ValueError(
            "penalty=None has no certificate by this method, which needs a strongly convex one. "
            "Use a small alpha."
        )
    if not isinstance(name, str):
        return alpha, name
    if name in ("elasticnet", "group"):
        l1_ratio = checks.share("l1_ratio", l1_ratio, QUADRATIC)
        lam, mu = alpha * (1 - l1_ratio), l1_ratio / (1 - l1_ratio)
        if name == "elasticnet":
            return lam, regularizers.ElasticNet(mu)
        return lam, regularizers.GroupL2(_labels(groups, features, extra, outputs), mu)
    simple = {"l2": regularizers.L2(), "nonnegative": regularizers.NonnegativeL2()}
    return alpha, _choose("penalty", name, dict.fromkeys(PENALTIES) | simple)


def _labels(groups: Any, features: int, extra: int, outputs: int) -> IntArray:
    """The group of each coordinate; a penalized intercept is one of its own."""
    if groups is None or np.shape(groups) != (features,):
        raise ValueError(
            f'penalty="group" needs groups, an array with the group of each of the {features} '
            f"features, got {groups!r}."
        )
    labels = np.unique(np.asarray(groups), return_inverse=True)[1]
    labels = np.append(labels, np.full(extra, labels.max() + 1))
    return np.repeat(labels, outputs).astype(np.int64)


def _choose(parameter: str, name: str, known: dict[str, Any]) -> Any:
    if name not in known:
        names = ", ".join(map(repr, known))
        raise ValueError(f"{parameter} must be one of {names} or an object, got {name!r}.")
    return known[name]
