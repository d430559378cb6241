"""The parameters of the estimators: their types, and the objects that their names stand for.

Names become objects here and nowhere else. A parameter that takes a name also takes an object,
which is used as it is.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from quartz import checks, losses, regularizers, samplings
from quartz.arrays import IntArray
from quartz.intercept import InterceptName
from quartz.losses.base import Loss
from quartz.methods import Accelerated, Automatic, Method, Permuted
from quartz.problem import Problem
from quartz.regularizers.base import Regularizer, abilities
from quartz.samplings import Recipe

# What users pass

MatrixLike: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix
"""X of shape (n_samples, n_features): an array, a sparse matrix or a frame."""

LossLike: TypeAlias = str | Loss
"""A loss, or its name in `CLASSIFIERS` or `REGRESSORS`."""

PenaltyLike: TypeAlias = str | Regularizer
"""A regularizer, or its name in `PENALTIES`."""

SamplingLike: TypeAlias = str | Method | Recipe
"""A sampling or a method, or its name in `SAMPLINGS`."""

AccelerationName: TypeAlias = Literal["auto", "on", "off"]
"""Whether runs are accelerated; see `ACCELERATION`."""

FitIntercept: TypeAlias = bool | Literal["penalized"]
"""Whether there is an intercept, and whether the penalty includes it."""

ClassWeight: TypeAlias = dict[Any, float] | Literal["balanced"] | None
"""Weights of the classes by their labels, which may be of any type that scikit-learn takes."""

RandomState: TypeAlias = int | np.random.RandomState | None
"""A seed in scikit-learn's sense."""

Alphas: TypeAlias = int | ArrayLike
"""A number of alphas, or the alphas themselves."""

# What names stand for

CLASSIFIERS: dict[str, Callable[..., Loss]] = {
    "hinge": lambda smoothing: losses.Hinge(),
    "squared_hinge": lambda smoothing: losses.SquaredHinge(gamma=0.5),
    "smoothed_hinge": lambda smoothing: losses.SmoothedHinge(
        checks.positive("smoothing", smoothing, 'Without any the loss is "hinge".')
    ),
    "log_loss": lambda smoothing: losses.Logistic(),
    "multinomial": lambda smoothing: losses.Softmax(),
    "multiclass_hinge": lambda smoothing: losses.SmoothedMulticlassHinge(
        checks.positive("smoothing", smoothing, "A small number comes close to none.")
    ),
}
REGRESSORS: dict[str, Callable[..., Loss]] = {
    "squared": lambda smoothing, epsilon: losses.Squared(),
    "huber": lambda smoothing, epsilon: losses.Huber(
        checks.positive("smoothing", smoothing, 'Without any the loss is "absolute".')
    ),
    "epsilon_insensitive": lambda smoothing, epsilon: losses.EpsilonInsensitive(epsilon),
    "absolute": lambda smoothing, epsilon: losses.Absolute(),
}


@dataclass(frozen=True)
class MiniBatches:
    """tau-nice sampling with 32 examples, or with all of them if there are fewer."""

    def bind(self, problem: Problem) -> samplings.NiceSampling:
        """Return the sampling for n examples."""
        return samplings.NiceSampling(problem.n, min(32, problem.n))


PENALTIES = ("l2", "elasticnet", "nonnegative", "group")
SAMPLINGS: dict[str, Method | Recipe | None] = {
    "auto": None,
    "permuted": Permuted(),
    "uniform": samplings.Uniform(),
    "importance": samplings.Importance(),
    "nice": MiniBatches(),
}
ACCELERATION: dict[str, Callable[[Method | Recipe | None], Method | Recipe]] = {
    "auto": Automatic,
    "on": lambda inner: Accelerated(inner or Permuted()),
    "off": lambda inner: inner or Permuted(),
}
QUADRATIC = "Without a quadratic part there is no certificate by this method. Try 0.99."


class Penalty(NamedTuple):
    """The penalty of an estimator as lam g, where lam is a fixed share of alpha.

    Attributes
    ----------
    share : float
        lam / alpha.
    regularizer : Regularizer
        g.
    """

    share: float
    regularizer: Regularizer


def loss_of(loss: LossLike, known: dict[str, Callable[..., Loss]], **parameters: float) -> Loss:
    """The loss that the parameter `loss` stands for; `parameters` are those of all names."""
    if not isinstance(loss, str):
        return loss
    _check_name("loss", loss, known)
    return known[loss](**parameters)


def method_of(sampling: SamplingLike, acceleration: AccelerationName) -> Method | Recipe:
    """The method that the parameters `sampling` and `acceleration` stand for."""
    if acceleration not in ACCELERATION:
        raise ValueError(f'acceleration must be "auto", "on" or "off", got {acceleration!r}.')
    if isinstance(sampling, Method):
        if acceleration == "on":
            raise ValueError(
                f'acceleration="on" goes around a sampling, got {sampling!r}. Give '
                "sampling=methods.Accelerated(...) itself."
            )
        return sampling  # a method decides about acceleration itself
    if not isinstance(sampling, str):
        return ACCELERATION[acceleration](sampling)
    _check_name("sampling", sampling, SAMPLINGS)
    return ACCELERATION[acceleration](SAMPLINGS[sampling])


def intercept_of(fit_intercept: FitIntercept) -> InterceptName | None:
    """The argument `intercept` of a Problem that `fit_intercept` stands for."""
    if isinstance(fit_intercept, bool | np.bool_):
        return "free" if fit_intercept else None
    if isinstance(fit_intercept, str) and fit_intercept == "penalized":
        return "penalized"
    raise ValueError(
        f'fit_intercept must be True (unpenalized), "penalized" or False, got {fit_intercept!r}.'
    )


def couples_outputs(penalty: PenaltyLike, coordinates: int, outputs: int) -> bool:
    """Whether terms of the penalty contain coefficients of several outputs.

    Groups by name always do; a regularizer does if it fits the `coordinates` of all outputs.
    """
    if isinstance(penalty, str):
        return penalty == "group"
    return abilities(penalty).length == coordinates * outputs


def penalty_of(
    penalty: PenaltyLike,
    l1_ratio: float,
    groups: ArrayLike | None,
    features: int,
    extra: int,
    outputs: int,
) -> Penalty:
    """The object that the parameter `penalty` stands for.

    Parameters
    ----------
    penalty : str or regularizer
        See :class:`quartz.QuartzClassifier`.
    l1_ratio : float
        For "elasticnet" and "group".
    groups : array of shape (features,), optional
        For "group".
    features : int
        Number of features.
    extra : int
        1 if the intercept is penalized, which makes it one more coordinate, otherwise 0.
    outputs : int
        Number of outputs of one problem; a group holds the coefficients of all of them.
    """
    if penalty is None:
        raise ValueError(
            "penalty=None has no certificate by this method, which needs a strongly convex one. "
            "Use a small alpha."
        )
    if not isinstance(penalty, str):
        return Penalty(1.0, penalty)
    if penalty in ("elasticnet", "group"):
        l1_ratio = checks.share("l1_ratio", l1_ratio, QUADRATIC)
        share, mu = 1 - l1_ratio, l1_ratio / (1 - l1_ratio)
        if penalty == "elasticnet":
            return Penalty(share, regularizers.ElasticNet(mu))
        return Penalty(share, regularizers.GroupL2(_labels(groups, features, extra, outputs), mu))
    _check_name("penalty", penalty, PENALTIES)
    simple: dict[str, Regularizer] = {
        "l2": regularizers.L2(),
        "nonnegative": regularizers.NonnegativeL2(),
    }
    return Penalty(1.0, simple[penalty])


def _labels(groups: ArrayLike | None, features: int, extra: int, outputs: int) -> IntArray:
    """The group number of each coordinate; a penalized intercept is a group of its own."""
    if groups is None or np.shape(groups) != (features,):
        raise ValueError(
            f'penalty="group" needs groups, an array with the group of each of the {features} '
            f"features, got {groups!r}."
        )
    labels = np.unique(np.asarray(groups), return_inverse=True)[1]
    labels = np.append(labels, np.full(extra, labels.max() + 1))
    return np.repeat(labels, outputs).astype(np.int64)


def _check_name(parameter: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        names = ", ".join(map(repr, known))
        raise ValueError(f"{parameter} must be one of {names} or an object, got {name!r}.")
