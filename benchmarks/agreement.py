"""Problems with a free intercept against other solvers at tight tolerances: optima, coefficients.

    python -m benchmarks.agreement [--data ...] [--losses ...] [--out FILE]

The other solver's w and b are judged by our P. That may not be below D, and must agree with our P
to the certified gap, as far as the other solver got. Results that the JSON file has are kept.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from benchmarks.compare import timed
from experiments import datasets
from quartz import Problem, losses, solve

EPSILON = 0.1
LAMS = {"10/n": lambda n: 10 / n, "1/n": lambda n: 1 / n}
DATA = ["phishing", "mushrooms", "w8a", "ijcnn1", "a9a", "debian_desc", "cadata"]


def logistic(solver):
    def fit(X, y, lam):
        C = 1 / (lam * len(y))
        return LogisticRegression(C=C, tol=1e-10, solver=solver, max_iter=20_000).fit(X, y)

    return fit


def ridge(X, y, lam):
    dense = X.toarray() if sp.issparse(X) and X.shape[1] < 1000 else X
    return Ridge(alpha=lam * len(y), tol=1e-12, max_iter=100_000).fit(dense, y)


def svm(X, y, lam):
    return SVC(C=1 / (lam * len(y)), kernel="linear", tol=1e-8, cache_size=1000).fit(_old(X), y)


def tube(X, y, lam):
    C = 1 / (lam * len(y))
    return SVR(C=C, kernel="linear", tol=1e-8, epsilon=EPSILON, cache_size=1000).fit(_old(X), y)


def lbfgs(X, y, lam):
    """Squared hinge by SciPy."""
    loss = losses.SquaredHinge()

    def objective(x):
        a = X @ x[:-1] + x[-1]
        gradients = loss.gradient(a, y) / len(y)
        value = np.mean(loss.value(a, y)) + 0.5 * lam * x[:-1] @ x[:-1]
        return value, np.append(X.T @ gradients + lam * x[:-1], gradients.sum())

    limits = {"maxiter": 50_000, "maxfun": 100_000, "ftol": 0, "gtol": 1e-11, "maxcor": 30}
    start = np.zeros(X.shape[1] + 1)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=limits)
    return _Found(found.x[:-1], found.x[-1])


class _Found:
    def __init__(self, coef, intercept):
        self.coef_, self.intercept_ = coef, intercept


CLASSIFIERS = {
    "logistic": (
        losses.Logistic(),
        {"lbfgs": logistic("lbfgs"), "newton": logistic("newton-cholesky")},
    ),
    "squared hinge": (losses.SquaredHinge(), {"SciPy L-BFGS": lbfgs}),
    "hinge": (losses.Hinge(), {"LIBSVM": svm}),
}
REGRESSORS = {
    "squared": (losses.Squared(), {"Ridge": ridge}),
    "epsilon-insensitive": (losses.EpsilonInsensitive(EPSILON), {"LIBSVM": tube}),
}


def load(name):
    if name == "cadata":  # standardized, or LIBSVM would not come to an end
        X, y = datasets.read("cadata.bz2")
        return StandardScaler().fit_transform(X.toarray()), (y - y.mean()) / y.std()
    return datasets.load(name)


def cell(X, y, loss, lam, others, tol):
    problem = Problem(X, y, loss, lam, intercept="free")
    seconds, found = timed(lambda: solve(problem, tol=tol, max_passes=50_000, max_seconds=300))
    w, b = problem.coefficients(found.w)
    certificate = found.certificate
    row = {
        "seconds": seconds,
        "passes": found.trace.passes[-1],
        "P": certificate.primal_value,
        "relative gap": certificate.relative_gap,
        "others": {},
    }
    for name, fit in others.items():
        if name == "newton" and X.shape[1] > 5000:  # d x d numbers are too many
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            elapsed, model = timed(lambda fit=fit: fit(X, y, lam))
        coefficients = np.asarray(_dense(model.coef_)).ravel()
        intercept = float(np.ravel(model.intercept_)[0])
        theirs = problem.primal(problem.data.with_intercept(coefficients, intercept))
        row["others"][name] = {
            "seconds": elapsed,
            "P - ours": theirs - certificate.primal_value,
            "P - D": theirs - certificate.dual_value,
            "coefficients": float(np.abs(coefficients - w).max()),
            "largest": float(np.abs(w).max()),
            "intercept": abs(intercept - b),
        }
    return row


def _old(X):
    return sp.csr_matrix(X) if sp.issparse(X) else X  # LIBSVM's wrapper knows no csr_array


def _dense(x):
    return x.toarray() if sp.issparse(x) else x


def table(results):
    header = (
        "| data | loss | lam | relative gap | passes | s | other | s | its P - D | its P - ours |"
    )
    header += " coefficients | largest | intercept |"
    lines = [header, "|---" * 13 + "|"]
    for r in results:
        for name, other in r["others"].items():
            lines.append(
                f"| {r['data']} | {r['loss']} | {r['lam']} | {r['relative gap']:.1e} | "
                f"{r['passes']:.0f} | {r['seconds']:.2f} | {name} | {other['seconds']:.2f} | "
                f"{other['P - D']:.1e} | {other['P - ours']:.1e} | {other['coefficients']:.1e} | "
                f"{other['largest']:.2g} | {other['intercept']:.1e} |"
            )
    return "\n".join(lines)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    parser.add_argument("--losses", nargs="+", choices=[*CLASSIFIERS, *REGRESSORS])
    parser.add_argument("--lams", nargs="+", choices=list(LAMS), default=list(LAMS))
    parser.add_argument("--tol", type=float, default=1e-9)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/full/agreement.json"))
    options = parser.parse_args(arguments)
    threadpool_limits(1)
    results = json.loads(options.out.read_text())["results"] if options.out.exists() else []
    done = {(r["data"], r["loss"], r["lam"]) for r in results}
    for data in options.data:
        X, y = load(data)
        for name, (loss, others) in (REGRESSORS if data == "cadata" else CLASSIFIERS).items():
            for lam in options.lams:
                if (data, name, lam) in done or name not in (options.losses or [name]):
                    continue
                row = cell(X, y, loss, LAMS[lam](X.shape[0]), others, options.tol)
                results.append({"data": data, "loss": name, "lam": lam} | row)
                options.out.parent.mkdir(parents=True, exist_ok=True)
                options.out.write_text(json.dumps({"results": results}, indent=1))
                print("\n".join(table(results[-1:]).splitlines()[2:]), flush=True)
    print(table(results))


if __name__ == "__main__":
    main()
