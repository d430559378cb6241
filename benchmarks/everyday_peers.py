"""Other solvers of the models of `benchmarks.everyday`: mean loss + lam penalty, free intercept.

Coefficients are judged by our P with the best intercept for them, so that a solver which penalizes
its intercept can take part as well: one whose column of ones has the value s penalizes b / s in
place of b, and the best of several s counts (`SCALES`). Larger s come closer to a free intercept,
and make the problem harder. X is given as it is to whatever has scikit-learn's interface; what a
library wants in a format of its own is converted once, and its time does not count.

Left out: scikit-learn's HuberRegressor, which estimates a scale and so minimizes something else;
its LogisticRegression(solver="sag"), which saga stands for; celer's and skglm's classifiers without
a quadratic penalty or an intercept; snapml, cyanure and liblinear for the models that they lack.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

MODULES = {  # package -> the module that must be there
    "liblinear-official": "liblinear.liblinearutil",
    "cyanure": "cyanure.estimators",
    "snapml": "snapml",
    "glum": "glum",
    "celer": "celer",
    "skglm": "skglm",
    "rehline": "rehline",
    "adelie": "adelie",
    "scikit-learn-intelex": "sklearnex",
}
SCALES = (1.0, 10.0, 100.0)
WORK = 2e9  # a second or so: the most that passes may come to, in numbers that are read
PER_EXAMPLE = 20  # what a step costs besides, in the same unit
SMALL = 1e6  # numbers in X, for solvers that are hopeless beyond
FEW = 10_000  # examples, for those whose time grows with their square
MIDDLE = 1e7  # for those that hold X in a format of twice the size


@dataclass(frozen=True)
class Setting:
    """What a model is made of, before it sees the data."""

    n: int
    d: int
    lam: float
    tol: float
    scale: float  # s, for those that penalize the intercept
    threads: int

    @property
    def C(self):  # noqa: N802 - everybody's name for it
        """The weight of the sum of the losses against ||w||^2 / 2."""
        return 1 / (self.lam * self.n)

    @property
    def passes(self):
        """Limit for passes over the data."""
        return int(np.clip(WORK / (self.n * (self.d + PER_EXAMPLE)), 100, 100_000))


class Peer(NamedTuple):
    """A solver for one model.

    `prepare(X, y, lam, threads)` returns fit(tol, scale), and that an object with `coef_` and
    `intercept_`. `direct` says that there is no tolerance to choose.
    """

    package: str
    prepare: Callable[..., Any]
    scales: tuple[float, ...] = (1.0,)
    direct: bool = False
    most_numbers: float = np.inf
    most_examples: float = np.inf
    takes_sparse: bool = True

    def can_take(self, X):
        """Whether data of this size and format are for this solver."""
        n, d = X.shape
        fits = n <= self.most_examples and n * d <= self.most_numbers
        return fits and (self.takes_sparse or not sp.issparse(X))


def estimator(package, make, targets=None, **options):
    """A peer with scikit-learn's interface: make(setting) is the model; targets(y) its labels."""

    def prepare(X, y, lam, threads):
        labels = y if targets is None else targets(y)

        def fit(tol, scale):
            return make(Setting(*X.shape, lam, tol, scale, threads)).fit(X, labels)

        return fit

    return Peer(package, prepare, **options)


def zero_one(y):
    return (y > 0).astype(np.float64)


# scikit-learn


def logistic_regression(solver, **options):
    def make(s):
        from sklearn.linear_model import LogisticRegression

        # Newton's iterations have passes of their own inside.
        most = s.passes if solver in ("lbfgs", "saga", "liblinear") else 200
        return LogisticRegression(
            C=s.C, solver=solver, tol=s.tol, max_iter=most, intercept_scaling=s.scale
        )

    return estimator("scikit-learn", make, **options)


def linear_svc(loss, dual):
    def make(s):
        from sklearn.svm import LinearSVC

        return LinearSVC(
            C=s.C,
            loss=loss,
            dual=dual,
            tol=s.tol,
            intercept_scaling=s.scale,
            max_iter=s.passes,
            random_state=0,
        )

    return estimator("scikit-learn", make, scales=SCALES)


def svc(package):
    """LIBSVM's or oneDAL's solver for kernels, whose intercept is free."""

    def make(s):
        if package == "scikit-learn":
            from sklearn.svm import SVC
        else:
            from sklearnex.svm import SVC
        return SVC(C=s.C, kernel="linear", tol=s.tol, max_iter=s.passes, cache_size=500)

    return estimator(package, make, most_examples=FEW)


def ridge(solver, **options):
    def make(s):
        from sklearn.linear_model import Ridge

        return Ridge(alpha=s.lam * s.n, solver=solver, tol=s.tol, max_iter=s.passes)

    return estimator("scikit-learn", make, **options)


def elastic_net(precompute, **options):
    def make(s):
        from sklearn.linear_model import ElasticNet

        return ElasticNet(s.lam, l1_ratio=0.5, precompute=precompute, tol=s.tol, max_iter=s.passes)

    return estimator("scikit-learn", make, **options)


# scikit-learn-intelex


def intelex_logistic(s):
    from sklearnex.linear_model import LogisticRegression

    return LogisticRegression(C=s.C, tol=s.tol, max_iter=s.passes, n_jobs=s.threads)


def intelex_ridge(s):
    from sklearnex.linear_model import Ridge

    return Ridge(alpha=s.lam * s.n, tol=s.tol, n_jobs=s.threads)


def intelex_elastic_net(s):
    from daal4py.sklearn.linear_model import ElasticNet

    return ElasticNet(s.lam, l1_ratio=0.5, tol=s.tol, max_iter=s.passes)


# cyanure


def cyanure(loss, penalty="l2", solver="auto"):
    def make(s):
        from cyanure import estimators

        options = {
            "penalty": penalty,
            "solver": solver,
            "lambda_1": s.lam,
            "tol": s.tol,
            "max_iter": s.passes,
            "verbose": False,
            "n_threads": s.threads,
        }
        if penalty == "elasticnet":
            options |= {"lambda_1": s.lam / 2, "lambda_2": s.lam / 2}
        if loss == "sqhinge":  # theirs is half of ours
            options["lambda_1"] = s.lam / 2
        if loss == "square":
            return estimators.Regression(**options)
        return estimators.Classifier(loss=loss, **options)

    return estimator("cyanure", make)


# snapml


def snapml(name, **arguments):
    def make(s):
        import snapml as library

        return getattr(library, name)(
            regularizer=s.lam * s.n,
            tol=s.tol,
            max_iter=s.passes,
            fit_intercept=True,
            intercept_scaling=s.scale,
            n_jobs=s.threads,
            random_state=0,
            **arguments,
        )

    return estimator("snapml", make, scales=SCALES)


# LIBLINEAR's own package


def liblinear(solver, free=False):
    """`free` leaves the intercept out of the penalty, which the primal solvers can do."""
    scales = (1.0,) if free else SCALES

    def prepare(X, y, lam, threads):
        from liblinear import liblinear as low
        from liblinear.liblinearutil import train

        # One for each scale, because the value of the last column cannot be changed.
        problems = {scale: low.problem(y, sp.csr_matrix(X), scale) for scale in scales}
        C = 1 / (lam * X.shape[0])
        bias = "-R" if free else ""

        def fit(tol, scale):
            options = f"-s {solver} -c {C!r} -e {tol} -B {scale} {bias} -q"
            model = train(problems[scale], options)
            w = np.array(model.w[: X.shape[1] + 1])
            w *= 1 if model.label[0] == 1 else -1
            return SimpleNamespace(coef_=w[:-1], intercept_=scale * w[-1])

        return fit

    return Peer("liblinear-official", prepare, scales, most_numbers=MIDDLE)


# glum


def glum(family, l1_ratio=0.0, **options):
    def make(s):
        from glum import GeneralizedLinearRegressor

        return GeneralizedLinearRegressor(
            alpha=s.lam, l1_ratio=l1_ratio, family=family, gradient_tol=s.tol, max_iter=300
        )

    return estimator("glum", make, **options)


# celer and skglm


def celer_elastic_net(s):
    from celer import ElasticNet

    return ElasticNet(s.lam, l1_ratio=0.5, tol=s.tol, max_epochs=s.passes)


def skglm_elastic_net(l1_ratio):
    def make(s):
        from skglm import ElasticNet

        return ElasticNet(s.lam, l1_ratio=l1_ratio, tol=s.tol, max_epochs=s.passes)

    return make


def skglm_logistic(s):
    from skglm import SparseLogisticRegression

    return SparseLogisticRegression(s.lam, l1_ratio=0.0, tol=s.tol, max_epochs=s.passes)


def skglm_huber(s):
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Huber
    from skglm.penalties import L1_plus_L2
    from skglm.solvers import AndersonCD

    solver = AndersonCD(tol=s.tol, max_epochs=s.passes)
    return GeneralizedLinearEstimator(Huber(1.0), L1_plus_L2(s.lam, 0.0), solver)


# rehline


def rehline(name, loss, factor=1.0, **arguments):
    """`factor` is that of their loss against ours."""

    def make(s):
        import rehline as library

        return getattr(library, name)(
            loss=loss,
            C=s.C / factor,
            tol=s.tol,
            max_iter=s.passes,
            intercept_scaling=s.scale,
            **arguments,
        )

    return estimator("rehline", make, scales=SCALES)


# adelie


def adelie(family, alpha):
    """Families: gaussian, binomial, multinomial; alpha is the share of the L1 penalty."""

    def prepare(X, y, lam, threads):
        import adelie as library

        kinds = library.glm
        make = {
            "gaussian": lambda: kinds.gaussian(y),
            "binomial": lambda: kinds.binomial(zero_one(y)),
            "multinomial": lambda: kinds.multinomial(np.eye(int(y.max()) + 1)[y]),
        }[family]
        outputs = int(y.max()) + 1 if family == "multinomial" else 1
        columns = np.asfortranarray(X)

        def fit(tol, scale):
            state = library.grpnet(
                columns,
                make(),
                alpha=alpha,
                penalty=np.ones(X.shape[1]),
                lmda_path=[lam / outputs],  # their multinomial loss is divided by the classes
                tol=tol,
                irls_tol=tol,
                n_threads=threads,
                early_exit=False,
                progress_bar=False,
            )
            coef = state.betas.toarray().reshape(-1, outputs).T
            return SimpleNamespace(coef_=coef, intercept_=state.intercepts[0])

        return fit

    return Peer("adelie", prepare, takes_sparse=False)


CLASSIFIER, REGRESSOR = "plq_Ridge_Classifier", "plq_Ridge_Regressor"
INTELEX = "scikit-learn-intelex"
PEERS = {
    "logistic": {
        "LR lbfgs": logistic_regression("lbfgs"),
        "LR newton-cholesky": logistic_regression("newton-cholesky"),
        "LR newton-cg": logistic_regression("newton-cg"),
        "LR liblinear": logistic_regression("liblinear", scales=SCALES),
        "LR saga": logistic_regression("saga", most_numbers=SMALL),
        "intelex": estimator(INTELEX, intelex_logistic),
        "liblinear primal": liblinear(0, free=True),
        "liblinear dual": liblinear(7),
        "cyanure": cyanure("logistic"),
        "snapml": snapml("LogisticRegression"),
        "glum": glum("binomial", targets=zero_one),
        "skglm": estimator("skglm", skglm_logistic),
        "adelie": adelie("binomial", 0.0),
    },
    "squared hinge": {
        "LinearSVC dual": linear_svc("squared_hinge", True),
        "LinearSVC primal": linear_svc("squared_hinge", False),
        "liblinear primal": liblinear(2, free=True),
        "liblinear dual": liblinear(1),
        "cyanure": cyanure("sqhinge"),
        "snapml": snapml("SupportVectorMachine", loss="squared_hinge"),
        "rehline": rehline(CLASSIFIER, {"name": "squared hinge"}),
    },
    "hinge": {
        "LinearSVC": linear_svc("hinge", True),
        "SVC": svc("scikit-learn"),
        "intelex SVC": svc(INTELEX),
        "liblinear": liblinear(3),
        "snapml": snapml("SupportVectorMachine", loss="hinge"),
        "rehline": rehline(CLASSIFIER, {"name": "hinge"}),
    },
    "multinomial": {
        "LR lbfgs": logistic_regression("lbfgs"),
        "LR newton-cholesky": logistic_regression("newton-cholesky"),
        "LR newton-cg": logistic_regression("newton-cg"),
        "LR saga": logistic_regression("saga", most_numbers=SMALL),
        "intelex": estimator(INTELEX, intelex_logistic),
        "cyanure": cyanure("multiclass-logistic"),
        # On iris its runs end after 15 passes at any tolerance, nearer to the optimum with this.
        "cyanure qning-svrg": cyanure("multiclass-logistic", solver="qning-svrg"),
        "adelie": adelie("multinomial", 0.0),
    },
    "ridge": {
        "Ridge auto": ridge("auto", direct=True),
        "Ridge cholesky": ridge("cholesky", direct=True, takes_sparse=False),
        "Ridge lsqr": ridge("lsqr"),
        "intelex": estimator(INTELEX, intelex_ridge, direct=True),
        "cyanure": cyanure("square"),
        "snapml": snapml("LinearRegression"),
        "glum": glum("normal", direct=True),
        "skglm": estimator("skglm", skglm_elastic_net(0.0)),
        "rehline": rehline(REGRESSOR, {"name": "MSE"}, factor=2.0),
        "adelie": adelie("gaussian", 0.0),
    },
    "elastic net": {
        "EN precompute": elastic_net(True, takes_sparse=False),
        "EN": elastic_net(False),
        "intelex": estimator(INTELEX, intelex_elastic_net),
        "cyanure": cyanure("square", "elasticnet"),
        "glum": glum("normal", 0.5),
        "celer": estimator("celer", celer_elastic_net),
        "skglm": estimator("skglm", skglm_elastic_net(0.5)),
        "adelie": adelie("gaussian", 0.5),
    },
    "huber": {
        "skglm": estimator("skglm", skglm_huber),
        "rehline": rehline(REGRESSOR, {"name": "huber", "tau": 1.0}),
    },
}
