"""Support of scikit-learn's callbacks, which exist from version 1.9 on.

A fit is a task in scikit-learn's sense. If it solves one problem, its subtasks are the
certificates. If it solves several, each problem is a subtask, and its certificates are subtasks of
that. A callback stops a run by returning True after a certificate. The fit of a search has two
subtasks: the search, with a subtask for each of its pieces, and the final fit.

Without callbacks, and with older versions of scikit-learn, nothing happens here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from quartz.certificate import Certificate
from quartz.estimators.names import MatrixLike
from quartz.estimators.training import Attributes
from quartz.methods.state import State
from quartz.run.loop import Callback

Fit = TypeVar("Fit", bound=Callable[..., object])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """A mixin without effect, for versions of scikit-learn that have no callbacks."""

    def with_callbacks(method: Fit) -> Fit:
        """Return the method itself."""
        return method


__all__ = ["CallbackSupportMixin", "Task", "fit_task", "with_callbacks"]


def fit_task(estimator: CallbackSupportMixin, X: MatrixLike, y: ArrayLike, runs: int) -> "Task":
    """The task of one call of `fit`, which consists of `runs` subtasks."""
    arguments = {"estimator": estimator, "X": X, "y": y}
    if not getattr(estimator, "_skl_callbacks", None):
        return Task(None, arguments, runs)
    return Task(estimator._init_callback_context(**_subtasks(runs)), arguments, runs)


class Task:
    """A task, to be entered as a context.

    Parameters
    ----------
    context : sklearn.callback.CallbackContext or None
        None if the estimator has no callbacks; then nothing is called.
    arguments : dict
        What the callbacks are given: the estimator, X and y.
    runs : int
        Number of runs of the solver, or of other subtasks.
    """

    def __init__(self, context: Any, arguments: dict[str, object], runs: int) -> None:
        self._context, self._arguments, self._runs = context, arguments, runs

    def __enter__(self) -> "Task":
        if self._context is not None:
            self._context.call_on_fit_task_begin(**self._arguments)
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if self._context is not None and error is None:
            self._context.call_on_fit_task_end(**self._arguments)

    def part(self, k: int, name: str, runs: int = 1) -> "Task":
        """Subtask number k."""
        context = self._context and self._context.subcontext(name, task_id=k, **_subtasks(runs))
        return Task(context, self._arguments, runs)

    @contextmanager
    def run(self, k: int, fitted: Callable[[Certificate], Attributes]) -> Iterator[Callback | None]:
        """A callback for run k of the solver; None if nobody listens.

        `fitted` gives the attributes that the estimator would have at a certified point.
        """
        if self._runs == 1:
            yield self._certified(fitted)
        else:
            with self.part(k, "output") as part:
                yield part._certified(fitted)

    def _certified(self, fitted: Callable[[Certificate], Attributes]) -> Callback | None:
        if self._context is None:
            return None

        def callback(state: State, certificate: Certificate) -> bool:
            step = self._context.subcontext("certificate")
            step.call_on_fit_task_begin(**self._arguments)
            attributes = {"reconstruction_attributes": fitted(certificate)}
            return bool(step.call_on_fit_task_end(**self._arguments, **attributes))

        return callback


def _subtasks(runs: int) -> dict[str, int | None]:
    """How a task announces its subtasks.

    One run has an unknown number of certificates, one after another; several runs are subtasks in
    any order.
    """
    return {"max_subtasks": runs if runs > 1 else None, "sequential_subtasks": runs == 1}
