"""Functions that run in child processes, which import them from here."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_info

from programs.runs import matrix
from quartz import Problem, QuartzClassifier, losses, methods, samplings, solve
from quartz.estimators.threads import in_threads

METHODS = (None, samplings.Importance())


def problem(lam=1e-3):
    return Problem(*matrix(200, 20), losses.Logistic(), lam, intercept="free")


def classifier():
    """One-vs-rest of three classes."""
    return QuartzClassifier("squared_hinge", alpha=1e-3, tol=1e-9, random_state=0, n_jobs=2)


def examples():
    X = matrix(200, 20)[0]
    return X, np.arange(200) % 3


def solved(task):
    """Solve a problem by all methods; children are given one, or make it."""
    return [solve(problem() if task is None else task, method, tol=1e-9) for method in METHODS]


def newton(task):
    return solve(task, methods.Newton(), tol=1e-9)


def continued(found):
    """Go on where a result is, with a smaller lam."""
    return solve(problem(1e-4), start=found, tol=1e-9)


def fitted(model):
    return model.fit(*examples())


def continued_fit(model):
    """Fit a fitted model again, from where it is."""
    return model.set_params(warm_start=True, n_jobs=1).fit(*examples())


def returned(found):
    """The same, after it was pickled here, too."""
    return pickle.loads(pickle.dumps(found))


def predicted(model):
    return model.decision_function(examples()[0])


def solved_at_once(lams):
    """Solve problems in as many threads, the first time that this process solves anything."""
    with ThreadPoolExecutor(len(lams)) as pool:
        return [found[0] for found in pool.map(solved, [problem(lam) for lam in lams])]


def threads_of_blas():
    """The numbers of threads before and after two fits at once, the first of which ends first."""
    entered, leave = [[threading.Event() for _ in range(2)] for _ in range(2)]

    def fit(k):
        def task():
            entered[k].set()
            return leave[k].wait(60)

        return in_threads([task], 1, threading.Event())

    def numbers():
        return [library["num_threads"] for library in threadpool_info()]

    before = numbers()
    with ThreadPoolExecutor(2) as pool:
        fits = []
        for k in range(2):
            fits.append(pool.submit(fit, k))
            entered[k].wait(60)
        for k in range(2):
            leave[k].set()
            fits[k].result(60)
    return before, numbers()
