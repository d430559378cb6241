"""The choice of alpha by cross-validation."""

import itertools
from copy import copy
from functools import cache, partial
from threading import Lock
from typing import Any

import numpy as np
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

from quartz.arrays import Array
from quartz.estimators.base import LinearModel
from quartz.estimators.callbacks import Task, fit_task, with_callbacks
from quartz.estimators.classifier import QuartzClassifier
from quartz.estimators.many_alphas import solve_path
from quartz.estimators.path import alpha_grid, middle
from quartz.estimators.training import Training, warn_user

IN_A_ROW = 5  # alphas that are solved one after another


class AlphaSearch(LinearModel):
    """Scores each alpha on held-out folds, and fits the best.

    A fold is the same X with weight 0 for the examples that are held out: nothing is copied.
    """

    warm_start = False
    alpha_: float
    alphas_: Array
    scores_: Array
    relative_gaps_: Array

    def _alpha(self, total_weight: float) -> float:
        return self.alpha_

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        """Choose alpha, and fit the model.

        Parameters
        ----------
        X, y, sample_weight
            As of the estimator without a search.
        **params
            With metadata routing, for the splitter (such as groups) and the scorer.

        Returns
        -------
        self
            Ctrl-C ends the search; the best alpha so far is fitted, until Ctrl-C once more.
        """
        with fit_task(self, X, y, 2) as task:
            rows, targets, weights = self.validated(X, y, sample_weight)
            errors = self._search(rows, targets, weights, self._routed(weights, params), task)
            self._choose(f" ({errors[0]})" if errors else "")
            return self._fit(X, y, sample_weight, task)

    def _search(
        self, X: Any, y: Any, weights: Array | None, routed: Any, whole: Task
    ) -> list[ValueError]:
        """Fill `scores_` and `relative_gaps_`, nan where a run is cut off; what scorers refuse."""
        conditions = self.conditions()
        self.alphas_ = alpha_grid(self, (X, y, weights), conditions, self.alphas, self.eps)
        folds = self._folds(X, y, routed.splitter.split)
        own = getattr(type(self), "predict", None) is not QuartzClassifier.predict
        quick = self.scoring is None and not own
        scorer = _accuracy if quick else self._scorer()
        self.scores_ = np.full((len(self.alphas_), len(folds)), np.nan)
        self.relative_gaps_ = np.full_like(self.scores_, np.nan)
        # Small alphas take longest, hence first
        numbers = np.arange(len(self.alphas_))
        chunks = np.array_split(numbers, -(-len(numbers) // IN_A_ROW))[::-1]
        pieces = list(itertools.product(chunks, range(len(folds))))
        errors: list[ValueError] = []
        locks = [Lock() for _ in folds]

        @cache
        def training_of(fold: int) -> Training:
            train, _ = folds[fold]
            kept = np.bincount(train, minlength=len(y)).astype(float)
            if weights is not None:
                kept *= weights
            return self.prepared(X, y, kept, conditions, alpha=middle(self.alphas_))

        def run(number: int) -> None:
            chunk, fold = pieces[number]
            with locks[fold]:
                training = training_of(fold)
            model, alphas, test = copy(self), self.alphas_[chunk], folds[fold][1]
            model.__dict__.pop("feature_names_in_", None)  # X has none any more
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
                except ValueError as error:  # such as a class that a fold lacks: nan
                    errors.append(error)

        with whole.part(0, "search", len(pieces)) as task:

            def told(number: int) -> None:
                with task.part(number, "piece"):
                    run(number)

            runs = [partial(told, number) for number in range(len(pieces))]
            conditions.in_threads(runs, conditions.verbose)
        return errors

    def _folds(self, X: Any, y: Any, params: dict[str, Any]) -> list[tuple[Array, Array]]:
        """Training and test examples by their numbers; splitters may give masks."""
        cv = check_cv(self.cv, y, classifier=is_classifier(self))
        numbers = np.arange(len(y))
        folds = [(numbers[train], numbers[test]) for train, test in cv.split(X, y, **params)]
        if not folds:
            raise ValueError(f"cv={self.cv!r} gives no folds.")
        return folds

    def _scorer(self) -> Any:
        """Of one number; what `score` does by default."""
        if isinstance(self.scoring, list | tuple | set | dict):
            raise ValueError(f"scoring must be one score, got {self.scoring!r}.")
        default = "accuracy" if is_classifier(self) else "r2"
        return check_scoring(self, scoring=default if self.scoring is None else self.scoring)

    def _choose(self, why: str) -> None:
        """The best mean score; of equal ones the largest alpha. `why` some may be nan."""
        ran, known = ~np.isnan(self.relative_gaps_), ~np.isnan(self.scores_)
        name, counts = type(self).__name__, known.sum(axis=1)
        if ran.all() and not known.any():
            raise ValueError(
                f"{name}: all scores are nan{why}. Choose another scoring, or larger folds."
            )
        # after a limit or Ctrl-C: as many folds as there are
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

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> Any:
        """What goes to the splitter and the scorer."""
        _raise_for_params(params, self, "fit")
        if _routing_enabled():
            return process_routing(self, "fit", sample_weight=sample_weight, **params)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return Bunch(splitter=Bunch(split={}), scorer=Bunch(score=weights))

    def get_metadata_routing(self) -> Any:
        """Who takes which metadata: `fit` itself, the splitter and the scorer."""
        splitter = self.cv if hasattr(self.cv, "split") else check_cv()  # folds take no metadata
        fit = MethodMapping().add(caller="fit", callee="split")
        score = MethodMapping().add(caller="fit", callee="score")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=splitter, method_mapping=fit)
            .add(scorer=self._scorer(), method_mapping=score)
        )


def _accuracy(model: Any, X: Any, y: Array, sample_weight: Array | None = None) -> float:
    """As scikit-learn's, whose checks of X and y take longer than the predictions."""
    return float(np.average(model.labels(model.scores(X)) == y, weights=sample_weight))
