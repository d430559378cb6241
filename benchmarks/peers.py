"""Other solvers on the same objective: mean loss + lam/2 ||w||^2, no intercept.

Each peer is a function (X, y, lam) -> fit, and fit(tol) returns w. What is converted once for a
library's own format is not part of fit.
"""

import importlib
import warnings

import numpy as np

ITERATIONS = 1000  # LIBLINEAR's own limit, and the number of passes that ours is allowed
TOLERANCES = tuple(10.0**-k for k in range(12))
MODULES = {  # package -> the module that must be there
    "liblinear-official": "liblinear",
    "cyanure": "cyanure",
    "snapml": "snapml",
}


def _quietly(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return np.ravel(model.coef_).astype(np.float64)


def liblinear(solver, loss):
    def settings(X, y, lam):
        from liblinear import liblinear as low
        from liblinear.liblinearutil import train
        from scipy.sparse import csr_matrix

        problem = low.problem(y, csr_matrix(X))
        C = 1 / (2 * lam * X.shape[0]) if loss == "squared hinge" else 1 / (lam * X.shape[0])

        def fit(tol):
            model = train(problem, f"-s {solver} -c {C!r} -e {tol} -q")
            w = np.array(model.w[: X.shape[1]])
            return w if model.label[0] == 1 else -w

        return fit

    return settings


def linear_svc(dual):
    def settings(X, y, lam):
        from sklearn.svm import LinearSVC

        C = 1 / (2 * lam * X.shape[0])

        def fit(tol):
            return _quietly(
                LinearSVC(C=C, fit_intercept=False, dual=dual, tol=tol, max_iter=ITERATIONS), X, y
            )

        return fit

    return settings


def logistic_regression(solver):
    def settings(X, y, lam):
        if solver == "newton-cholesky" and X.shape[1] > 5000:
            raise MemoryError("a dense d x d Hessian does not fit")
        from sklearn.linear_model import LogisticRegression

        C = 1 / (lam * X.shape[0])

        def fit(tol):
            model = LogisticRegression(
                C=C, fit_intercept=False, solver=solver, tol=tol, max_iter=ITERATIONS
            )
            return _quietly(model, X, y)

        return fit

    return settings


def ridge(solver):
    def settings(X, y, lam):
        if solver == "cholesky" and X.shape[1] > 5000:
            raise MemoryError("a dense d x d matrix does not fit")
        from sklearn.linear_model import Ridge

        def fit(tol):
            model = Ridge(
                alpha=lam * X.shape[0],
                fit_intercept=False,
                solver=solver,
                tol=tol,
                max_iter=ITERATIONS,
            )
            return _quietly(model, X, y)

        return fit

    return settings


def cyanure(loss):
    def settings(X, y, lam):
        from cyanure import estimators
        from scipy.sparse import csr_matrix

        matrix = csr_matrix(X)

        def fit(tol):
            options = {
                "lambda_1": lam,
                "fit_intercept": False,
                "tol": tol,
                "max_iter": ITERATIONS,
                "verbose": False,
                "n_threads": 1,
            }
            if loss == "square":
                model = estimators.Regression(**options)
            else:
                model = estimators.Classifier(loss=loss, **options)
            return _quietly(model, matrix, y)

        return fit

    return settings


def snapml(loss):
    def settings(X, y, lam):
        import snapml as library
        from scipy.sparse import csr_matrix

        matrix, n = csr_matrix(X), X.shape[0]

        def fit(tol):
            if loss == "squared hinge":
                model = library.SupportVectorMachine(
                    loss="squared_hinge", regularizer=2 * lam * n, tol=tol, max_iter=ITERATIONS
                )
            else:
                model = library.LogisticRegression(
                    regularizer=lam * n, tol=tol, max_iter=ITERATIONS
                )
            return _quietly(model, matrix, y)

        return fit

    return settings


PEERS = {
    "squared hinge": {
        "liblinear dual": liblinear(1, "squared hinge"),
        "liblinear primal": liblinear(2, "squared hinge"),
        "LinearSVC dual": linear_svc(True),
        "LinearSVC primal": linear_svc(False),
        "cyanure": cyanure("sqhinge"),
        "snapml": snapml("squared hinge"),
    },
    "smoothed hinge": {},  # of those in the registry only lightning has it, which did not build
    "logistic": {
        "liblinear dual": liblinear(7, "logistic"),
        "liblinear primal": liblinear(0, "logistic"),
        "LR liblinear": logistic_regression("liblinear"),
        "LR saga": logistic_regression("saga"),
        "LR lbfgs": logistic_regression("lbfgs"),
        "LR newton-cholesky": logistic_regression("newton-cholesky"),
        "LR newton-cg": logistic_regression("newton-cg"),
        "cyanure": cyanure("logistic"),
        "snapml": snapml("logistic"),
    },
    "ridge": {
        "Ridge cholesky": ridge("cholesky"),
        "Ridge sparse_cg": ridge("sparse_cg"),
        "Ridge lsqr": ridge("lsqr"),
        "Ridge saga": ridge("saga"),
        "cyanure": cyanure("square"),
    },
}


def find_missing(modules):
    """Import package -> module, what peers need; returns package -> reason for those missing."""
    missing = {}
    for package, module in modules.items():
        try:
            importlib.import_module(module)
        except Exception as error:  # a broken package raises whatever it likes
            missing[package] = str(error)
    return missing
