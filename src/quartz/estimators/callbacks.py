"""scikit-learn's callback protocol, from 1.9 on; nothing happens with older versions.

A fit is a task. Its subtasks are the certificates, or with several outputs one task for each, with
its certificates. A callback may stop a run by returning True after a certificate. A search has two
parts: one with a task for each piece of the search, and the last fit.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:
        """Return the method itself."""
        return method


__all__ = ["CallbackSupportMixin", "Task", "fit_task", "with_callbacks"]


def fit_task(estimator: Any, X: Any, y: Any, runs: int) -> "Task":
    """The task that is the whole of `fit`."""
    arguments = {"estimator": estimator, "X": X, "y": y}
    if not getattr(estimator, "_skl_callbacks", None):
        return Task(None, arguments, runs)
    return Task(estimator._init_callback_context(**_subtasks(runs)), arguments, runs)


class Task:
    """A task of so many runs, to be entered; nothing happens if there is nobody to tell."""

    def __init__(self, context: Any, arguments: dict[str, Any], runs: int) -> None:
        self._context, self._arguments, self._runs = context, arguments, runs

    def __enter__(self) -> "Task":
        if self._context is not None:
            self._context.call_on_fit_task_begin(**self._arguments)
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if self._context is not None and error is None:
            self._context.call_on_fit_task_end(**self._arguments)

    def part(self, k: int, name: str, runs: int = 1) -> "Task":
        """Subtask k of several."""
        context = self._context and self._context.subcontext(name, task_id=k, **_subtasks(runs))
        return Task(context, self._arguments, runs)

    @contextmanager
    def run(self, k: int, fitted: Callable[[Any], Any]) -> Iterator[Callable[[Any, Any], bool]]:
        """A callback for the solver's run k; `fitted` makes attributes of a certificate."""
        if self._runs == 1:
            yield self._certified(fitted)
        else:
            with self.part(k, "output") as part:
                yield part._certified(fitted)

    def _certified(self, fitted: Callable[[Any], Any]) -> Callable[[Any, Any], bool]:
        def callback(state: Any, certificate: Any) -> bool:
            if self._context is None:
                return False
            step = self._context.subcontext("certificate")
            step.call_on_fit_task_begin(**self._arguments)
            attributes = {"reconstruction_attributes": fitted(certificate)}
            return bool(step.call_on_fit_task_end(**self._arguments, **attributes))

        return callback


def _subtasks(runs: int) -> dict[str, Any]:
    """One run has certificates, one after another; several are tasks of their own, in any order."""
    return {"max_subtasks": runs if runs > 1 else None, "sequential_subtasks": runs == 1}
