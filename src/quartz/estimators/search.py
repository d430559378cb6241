"""The choice of alpha by cross-validation."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from copy import copy
from functools import cache, partial
from threading import Lock
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted

from quartz.arrays import AnyArray, Array, IntArray
from quartz.estimators.base import LinearModel
from quartz.estimators.callbacks import Task, fit_task, with_callbacks
from quartz.estimators.classifier import QuartzClassifier
from quartz.estimators.many_alphas import solve_path
from quartz.estimators.names import Alphas, MatrixLike
from quartz.estimators.path import alpha_grid, middle
from quartz.estimators.training import Matrix, Training, warn_user

COPIED = 2_000_000  # entries of a dense X of which each fold has a copy
IN_A_ROW = 5  # alphas of one fold that a thread solves one after another, at most


class AlphaSearch(LinearModel):
    """Scores each alpha on held-out folds, and fits the best.

    The training set of a fold is the same X with weight 0 for the held-out examples, so that
    nothing is copied.
    """

    warm_start = False
    alphas: Alphas
    eps: float
    cv: Any
    scoring: Any

    alpha_: float
    best_score_: float
    alphas_: Array
    scores_: Array
    relative_gaps_: Array

    def _alpha(self, total_weight: float) -> float:
        check_is_fitted(self, "alpha_", msg="%(name)s chooses alpha in fit, which was not called.")
        return self.alpha_

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Choose alpha, and fit the model.

        Parameters
        ----------
        X, y, sample_weight
            As for the estimator without a search.
        **params
            With metadata routing, arguments of the splitter (such as groups) and the scorer.

        Returns
        -------
        self
            Ctrl-C ends the search, and the best alpha so far is fitted; another Ctrl-C ends that
            fit, too.
        """
        with fit_task(self, X, y, 2) as task:
            rows, targets, weights = self.validated(X, y, sample_weight)
            errors = self._search(rows, targets, weights, self._routed(weights, params), task)
            self._choose(f" ({errors[0]})" if errors else "")
            return self._fit(X, y, sample_weight, task)

    def _search(
        self, X: Matrix, y: AnyArray, weights: Array | None, routed: Bunch, whole: Task
    ) -> list[ValueError]:
        """Fill `scores_` and `relative_gaps_`, and return the errors of the scorer.

        Both are nan where a time limit or Ctrl-C came first, scores also after an error.
        """
        conditions = self.conditions()
        self.alphas_ = alpha_grid(self, (X, y, weights), conditions, self.alphas, self.eps)
        folds = self._folds(X, y, routed.splitter.split)
        own = getattr(type(self), "predict", None) is not QuartzClassifier.predict
        quick = self.scoring is None and not own
        scorer: Callable[..., float] = _accuracy if quick else self._scorer()
        self.scores_ = np.full((len(self.alphas_), len(folds)), np.nan)
        self.relative_gaps_ = np.full_like(self.scores_, np.nan)
        # Small alphas take longest, so they come first: then all threads end at about the same time
        numbers = np.arange(len(self.alphas_))
        chunks = np.array_split(numbers, -(-len(numbers) // IN_A_ROW))[::-1]
        pieces = list(itertools.product(chunks, range(len(folds))))
        errors: list[ValueError] = []
        locks = [Lock() for _ in folds]

        @cache
        def training_of(fold: int) -> Training:
            train, _ = folds[fold]
            if not sp.issparse(X) and X.size <= COPIED:
                some = None if weights is None else weights[train]
                return self.prepared(X[train], y[train], some, conditions, middle(self.alphas_))
            kept = np.bincount(train, minlength=len(y)).astype(float)  # the folds share one X
            if weights is not None:
                kept *= weights
            return self.prepared(X, y, kept, conditions, alpha=middle(self.alphas_))

        def run(number: int) -> None:
            chunk, fold = pieces[number]
            with locks[fold]:
                training = training_of(fold)
            model, alphas, test = copy(self), self.alphas_[chunk], folds[fold][1]
            model.__dict__.pop("feature_names_in_", None)  # the validated X has no names
            paths = [solve_path(training, problem, alphas) for problem in training.problems]
            rows, targets = X[test], y[test]
            held = {name: np.asarray(value)[test] for name, value in routed.scorer.score.items()}
            nothing = not len(test) or not np.any(held.get("sample_weight", 1.0))
            for k, results in zip(chunk, zip(*paths, strict=True), strict=True):
                if conditions.are_over():
                    return
                model.__dict__.update(training.fitted([r.w for r in results]))
                self.relative_gaps_[k, fold] = max(r.certificate.relative_gap for r in results)
                if nothing:
                    continue
                try:
                    self.scores_[k, fold] = scorer(model, rows, targets, **held)
                except ValueError as error:  # for instance because a fold lacks a class
                    errors.append(error)

        with whole.part(0, "search", len(pieces)) as task:

            def run_as_task(number: int) -> None:
                with task.part(number, "piece"):
                    run(number)

            runs = [partial(run_as_task, number) for number in range(len(pieces))]
            conditions.in_threads(runs, training_of(0).problems[0], conditions.verbose)
        return errors

    def _folds(
        self, X: Matrix, y: AnyArray, params: dict[str, Any]
    ) -> list[tuple[IntArray, IntArray]]:
        """The indices of the training and test examples of each fold; splitters may give masks."""
        cv = check_cv(self.cv, y, classifier=is_classifier(self))
        numbers = np.arange(len(y))
        folds = [(numbers[train], numbers[test]) for train, test in cv.split(X, y, **params)]
        if not folds:
            raise ValueError(f"cv={self.cv!r} gives no folds.")
        return folds

    def _scorer(self) -> Callable[..., float]:
        """A scorer called as ``scorer(model, X, y, **metadata)``; by default that of `score`."""
        if isinstance(self.scoring, list | tuple | set | dict):
            raise ValueError(f"scoring must be one score, got {self.scoring!r}.")
        default = "accuracy" if is_classifier(self) else "r2"
        return check_scoring(self, scoring=default if self.scoring is None else self.scoring)

    def _choose(self, why: str) -> None:
        """Set `alpha_` to the alpha with the best mean score, of several the largest, and warn.

        `why` is for messages: why some scores may be nan.
        """
        ran, known = ~np.isnan(self.relative_gaps_), ~np.isnan(self.scores_)
        name, counts = type(self).__name__, known.sum(axis=1)
        if ran.all() and not known.any():
            raise ValueError(
                f"{name}: all scores are nan{why}. Choose another scoring, or larger folds."
            )
        # After a time limit or Ctrl-C only alphas with scores on the most folds are compared.
        sums = np.where(known, self.scores_, 0.0).sum(axis=1)
        means = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
        best = int(np.argmax(np.where((counts == counts.max()) & (counts > 0), means, -np.inf)))
        self.alpha_, self.best_score_ = float(self.alphas_[best]), float(means[best])
        if not ran.all():
            warn_user(
                f"{name}: the search was cut off with {np.sum(~ran)} of {ran.size} scores missing; "
                f"alpha_={self.alpha_:g} is the best of the others. Raise max_seconds, or give "
                "fewer alphas or folds.",
                ConvergenceWarning,
            )
        if (ran & ~known).any():
            warn_user(
                f"{name}: {np.sum(ran & ~known)} of {ran.size} scores are nan and left out{why}. "
                "Choose another scoring, or larger folds.",
                UserWarning,
            )
        gaps = self.relative_gaps_[ran]
        if (gaps > self.tol).any():
            warn_user(
                f"{name}: {np.sum(gaps > self.tol)} of {gaps.size} fits of the search miss "
                f"tol={self.tol:g}, with relative gaps up to {gaps.max():.1e}. Raise max_passes="
                f"{self.max_passes:g}, loosen tol, scale the features, or leave out the smallest "
                "alphas.",
                ConvergenceWarning,
            )

    def _routed(self, sample_weight: Array | None, params: dict[str, Any]) -> Bunch:
        """The arguments of the splitter and of the scorer."""
        _raise_for_params(params, self, "fit")
        if _routing_enabled():
            return process_routing(self, "fit", sample_weight=sample_weight, **params)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return Bunch(splitter=Bunch(split={}), scorer=Bunch(score=weights))

    def get_metadata_routing(self) -> MetadataRouter:
        """Which metadata `fit` itself, the splitter and the scorer take."""
        # Folds given as a number or an iterable take no metadata, like the default splitter.
        splitter = self.cv if hasattr(self.cv, "split") else check_cv()
        fit = MethodMapping().add(caller="fit", callee="split")
        score = MethodMapping().add(caller="fit", callee="score")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=splitter, method_mapping=fit)
            .add(scorer=self._scorer(), method_mapping=score)
        )


def _accuracy(
    model: QuartzClassifier, X: Matrix, y: AnyArray, sample_weight: Array | None = None
) -> float:
    """Accuracy without scikit-learn's checks of X and y, which take longer than predictions."""
    return float(np.average(model.labels(model.raw_scores(X)) == y, weights=sample_weight))
