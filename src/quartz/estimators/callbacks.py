"""scikit-learn's callback protocol, from 1.9 on; nothing happens with older versions.

A fit is a task. Its subtasks are the certificates, or with several outputs one task for each, with
its certificates. A callback may stop a run by returning True at the end of a subtask.
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


__all__ = ["CallbackSupportMixin", "FitTasks", "with_callbacks"]


class FitTasks:
    """The tasks of one fit, if there is anybody to tell."""

    def __init__(self, estimator: Any, X: Any, y: Any, runs: int) -> None:
        self._estimator, self._root, self._runs = estimator, None, runs
        self._arguments = {"estimator": estimator, "X": X, "y": y}
        if getattr(estimator, "_skl_callbacks", None):
            several = runs > 1
            self._root = estimator._init_callback_context(
                max_subtasks=runs if several else None, sequential_subtasks=not several
            )
            self._root.call_on_fit_task_begin(**self._arguments)

    @contextmanager
    def of_run(
        self, k: int, fitted: Callable[[Any], Any]
    ) -> Iterator[Callable[[Any, Any], bool] | None]:
        """A callback for the solver's run k; `fitted` makes attributes of a certificate."""
        if self._root is None:
            yield None
            return
        task = self._root
        if self._runs > 1:
            task = task.subcontext("output", task_id=k, max_subtasks=None)
            task.call_on_fit_task_begin(**self._arguments)

        def callback(state: Any, certificate: Any) -> bool:
            step = task.subcontext("certificate")
            step.call_on_fit_task_begin(**self._arguments)
            attributes = None if self._runs > 1 else lambda: fitted(certificate)
            return bool(
                step.call_on_fit_task_end(**self._arguments, reconstruction_attributes=attributes)
            )

        yield callback
        if self._runs > 1:
            task.call_on_fit_task_end(**self._arguments)

    def end(self) -> None:
        """The fit is done."""
        if self._root is not None:
            self._root.call_on_fit_task_end(**self._arguments)
