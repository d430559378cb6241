"""What all tests share."""

import pytest

from quartz.run import interruption


@pytest.fixture(autouse=True)
def _no_interruption_before(monkeypatch):
    """Two tests that interrupt a run within a second do not make the second one raise."""
    monkeypatch.setattr(interruption, "_returned", -float("inf"))
