"""The estimators' door: names in their parameters become objects here, once.

An object stands for itself everywhere.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from quartz import checks, losses, regularizers, samplings
from quartz.arrays import IntArray
from quartz.intercept import InterceptName
from quartz.losses.base import Loss
from quartz.methods import Accelerated, Automatic, Method, Permuted
from quartz.regularizers.base import Regularizer
from quartz.samplings import Recipe

CLASSIFIERS: dict[str, Callable[..., Loss]] = {
    "hinge": lambda smoothing: losses.Hinge(),
    "squared_hinge": lambda smoothing: losses.SquaredHinge(gamma=0.5),
    "smoothed_hinge": lambda smoothing: losses.SmoothedHinge(smoothing),
    "log_loss": lambda smoothing: losses.Logistic(),
    "multinomial": lambda smoothing: losses.Softmax(),
    "multiclass_hinge": lambda smoothing: losses.SmoothedMulticlassHinge(smoothing),
}
REGRESSORS: dict[str, Callable[..., Loss]] = {
    "squared": lambda smoothing, epsilon: losses.Squared(),
    "huber": lambda smoothing, epsilon: losses.Huber(smoothing),
    "epsilon_insensitive": lambda smoothing, epsilon: losses.EpsilonInsensitive(epsilon),
    "absolute": lambda smoothing, epsilon: losses.Absolute(),
}
QUADRATIC = "Without a quadratic part there is no certificate by this method. Try 0.99."
PENALTIES = ("l2", "elasticnet", "nonnegative", "group")
SAMPLINGS: dict[str, Method | Recipe | None] = {
    "auto": None,
    "permuted": Permuted(),
    "uniform": samplings.Uniform(),
    "importance": samplings.Importance(),
    "nice": samplings.Nice(batch_size=32),
}
ACCELERATION: dict[str, Callable[[Method | Recipe | None], Method | Recipe]] = {
    "auto": Automatic,
    "on": lambda inner: Accelerated(inner or Permuted()),
    "off": lambda inner: inner or Permuted(),
}


class Penalty(NamedTuple):
    """lam g, whose lam is a share of alpha.

    Attributes
    ----------
    share : float
        lam / alpha.
    regularizer : Regularizer
        g.
    """

    share: float
    regularizer: Regularizer


def loss_of(name: Any, known: dict[str, Callable[..., Loss]], **parameters: float) -> Any:
    """The loss of that name."""
    if not isinstance(name, str):
        return name
    return _choose("loss", name, known)(**parameters)


def method_of(sampling: Any, acceleration: str) -> Method | Recipe:
    """The method that a sampling, by name or not, and an acceleration stand for."""
    inner = _choose("sampling", sampling, SAMPLINGS) if isinstance(sampling, str) else sampling
    if acceleration not in ACCELERATION:
        raise ValueError(f'acceleration must be "auto", "on" or "off", got {acceleration!r}.')
    if isinstance(inner, Method) and not isinstance(inner, Permuted):
        return inner  # it knows itself whether to accelerate
    return ACCELERATION[acceleration](inner)


def intercept_of(fit_intercept: Any) -> InterceptName | None:
    """What `fit_intercept` means to a Problem."""
    if isinstance(fit_intercept, bool | np.bool_):
        return "free" if fit_intercept else None
    if isinstance(fit_intercept, str) and fit_intercept == "penalized":
        return "penalized"
    raise ValueError(
        f'fit_intercept must be True (unpenalized), "penalized" or False, got {fit_intercept!r}.'
    )


def couples_outputs(penalty: Any) -> bool:
    """Whether several outputs have terms of that penalty in common."""
    return isinstance(penalty, str) and penalty == "group"


def penalty_of(
    name: Any, l1_ratio: float, groups: Any, features: int, extra: int, outputs: int
) -> Penalty:
    """The penalty alpha (l1_ratio ||w||_1 + (1 - l1_ratio) / 2 ||w||^2) and the like.

    Parameters
    ----------
    name : str or regularizer
        "group" has the norms of groups in place of absolute values.
    l1_ratio : float
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
        return Penalty(1.0, name)
    if name in ("elasticnet", "group"):
        l1_ratio = checks.share("l1_ratio", l1_ratio, QUADRATIC)
        share, mu = 1 - l1_ratio, l1_ratio / (1 - l1_ratio)
        if name == "elasticnet":
            return Penalty(share, regularizers.ElasticNet(mu))
        return Penalty(share, regularizers.GroupL2(_labels(groups, features, extra, outputs), mu))
    simple = {"l2": regularizers.L2(), "nonnegative": regularizers.NonnegativeL2()}
    return Penalty(1.0, _choose("penalty", name, dict.fromkeys(PENALTIES) | simple))


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
