"""The experiments: their runner, their numbers, and the claims that small sizes can show."""

import csv
import json

import numpy as np
import pytest

from experiments import compared, datasets, features, tables
from experiments.__main__ import main
from experiments.all import EXPERIMENTS
from experiments.base import Experiment, Task
from experiments.contours import spread_along_products
from experiments.measure import gap_curve, iterations_to, measured, speedups
from experiments.runner import run
from quartz import Problem, losses, theory
from quartz.methods import Accelerated, Quartz
from quartz.samplings import Nice, Uniform


class Squares(Experiment):
    name, title = "squares", "Squares"

    def __init__(self, fails_at=None):
        self.fails_at, self.ran = fails_at, []

    def tasks(self, quick):
        for k in range(4):
            yield Task({"k": k}, lambda k=k: self.square(k))

    def square(self, k):
        if k == self.fails_at:
            raise KeyboardInterrupt
        self.ran.append(k)
        return {"x": [k, k + 1], "square": [k**2, (k + 1) ** 2]}

    def summary(self, rows):
        return f"{len(rows)} rows"


def test_a_run_that_was_cut_off_goes_on(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(Squares(fails_at=2), tmp_path, quick=True, progress=False)
    again = Squares()
    assert run(again, tmp_path, quick=True, progress=False) == "4 rows"
    assert again.ran == [2, 3]
    assert "4 rows" in (tmp_path / "squares-quick.md").read_text()
    assert len(json.loads((tmp_path / "squares-quick.json").read_text())) == 4
    with (tmp_path / "squares-quick.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["square"] for line in lines] == ["0", "1", "1", "4", "4", "9", "9", "16"]


def test_results_of_other_sizes_are_kept_but_not_shown(tmp_path):
    path = tmp_path / "squares-quick.json"
    path.write_text(json.dumps([{"key": {"k": 99}, "result": {"x": [0], "square": [0]}}]))
    assert run(Squares(), tmp_path, quick=True, progress=False) == "4 rows"
    assert len(json.loads(path.read_text())) == 5


def test_command_line(tmp_path, capsys, monkeypatch):
    assert main(["speedup", "contours", "--quick", "--out", str(tmp_path)]) == 0
    assert "at least 0.501 tau" in capsys.readouterr().out
    names = {path.name for path in tmp_path.iterdir()}
    files = {f"speedup-quick.{end}" for end in ("png", "csv", "json", "md")}
    assert files | {"contours-quick.png"} <= names
    with pytest.raises(SystemExit):
        main(["no-such"])
    assert "there are data, tables" in capsys.readouterr().err
    monkeypatch.delenv("QUARTZ_DATA_DIR", raising=False)
    datasets.load.cache_clear()
    assert main(["importance", "--quick", "--out", str(tmp_path)]) == 1
    assert "set QUARTZ_DATA_DIR" in capsys.readouterr().err
    monkeypatch.setattr(
        "experiments.__main__.EXPERIMENTS", {"importance": EXPERIMENTS["importance"]}
    )
    assert main(["--quick", "--out", str(tmp_path)]) == 0  # among all, that is no failure
    monkeypatch.undo()
    (tmp_path / "speedup.json").write_text("{")
    assert main(["speedup", "--out", str(tmp_path)]) == 1
    assert "Delete it" in capsys.readouterr().err
    assert main(["speedup", "--out", str(tmp_path / "speedup.json")]) == 1


def test_points_without_data_are_left_out(tmp_path, capsys):
    class Partly(Squares):
        def square(self, k):
            if k % 2:
                raise datasets.MissingDataError("odd.bz2 not found")
            return super().square(k)

    assert run(Partly(), tmp_path, quick=True, progress=False) == "2 rows"
    assert "odd.bz2 not found" in capsys.readouterr().err


def test_ctrl_c_within_solve_keeps_no_half_result(tmp_path):
    problem = Problem(*datasets.shared_by(64, 64), losses.SmoothedHinge(), lam=1e-6)

    def interrupt(state, certificate):
        if state.iteration > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        iterations_to(problem, 1e-9, 500, Uniform(), callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        gap_curve(problem, 500, Uniform(), callback=interrupt)


def test_every_experiment_says_what_it_is():
    for name, experiment in EXPERIMENTS.items():
        assert name == experiment.name
        keys = [json.dumps(task.key) for task in experiment.tasks(quick=True)]
        assert len(keys) == len(set(keys)) > 0


def test_features_are_the_papers_but_for_importance_in_spdc():
    """[tbl:finalconclusion]."""
    differing = [
        (name, column)
        for name, ticks in features.PAPER.items()
        for column, tick in zip(features.COLUMNS, ticks, strict=True)
        if features._features(name)[column] != (tick == "1")
    ]
    assert differing == [("SPDC", "importance")]


@pytest.mark.parametrize("data", ["any", "fully sparse", "fully dense", "omega = 32"])
def test_formulas_are_those_of_the_plans(data):
    """[tab-comtauxxx]."""
    row = tables._sampled(data)
    assert row["plan"] == pytest.approx(row["formula"], rel=1e-9)


@pytest.mark.parametrize("omega", [1, 8, 64])
def test_generated_data_have_the_sparsity_they_promise(omega):
    X, y = datasets.shared_by(omega, 64)
    data = Problem(X, y, losses.SmoothedHinge(), 1.0).data
    assert theory.omega_tilde(data, tau=4) == pytest.approx(omega)
    np.testing.assert_allclose(data.squared_norms(), 1.0)


@pytest.mark.parametrize(
    ("make", "density"),
    [
        (lambda: datasets.text_like(3000, 47_236, 0.0013), 0.0016),
        (lambda: datasets.text_like(3000, 99_757, 0.00065), 0.0008),
        (lambda: datasets.unigrams_like(3000, 254, 0.3352), 0.3352),
    ],
)
def test_generated_data_have_the_papers_density(make, density):
    """[tab-num]."""
    X, y = make()
    assert X.nnz / np.prod(X.shape) == pytest.approx(density, rel=0.05)
    assert 0.2 < np.mean(y > 0) < 0.8
    np.testing.assert_allclose(X.power(2).sum(axis=1), 1.0)


def test_iterations_are_interpolated():
    problem = Problem(*datasets.shared_by(1, 1024), losses.SmoothedHinge(), lam=1 / 1024)
    method = Quartz(Uniform(), primal="own")
    coarse = iterations_to(problem, 1e-6, 500, method, passes_per_check=1.0, seed=0)
    fine = iterations_to(problem, 1e-6, 500, method, passes_per_check=0.1, seed=0)
    assert coarse == pytest.approx(fine, rel=0.05)
    assert iterations_to(problem, 1e-6, 2, method, seed=0) is None


def test_speedup_on_fully_sparse_data_is_perfect():
    """[a-spth] with omega = 1, in theory and in practice."""
    problem = Problem(*datasets.shared_by(1, 1024), losses.SmoothedHinge(), lam=1 / 1024)
    rows = [
        {"tau": tau, "seed": seed} | measured(problem, sampling, seed, 500, gap=1e-8)
        for tau, sampling in ((1, Uniform()), (16, Nice(16)))
        for seed in range(2)
    ]
    serial, batch = speedups(rows, tau=1)
    assert serial["practice"] == pytest.approx(1)
    assert batch["theory"] == pytest.approx(16)
    assert batch["practice"] == pytest.approx(16, rel=0.05)
    assert batch["least"] <= batch["practice"] <= batch["most"]


def test_too_many_passes_are_not_tried():
    problem = Problem(*datasets.shared_by(64, 64), losses.SmoothedHinge(), lam=1e-6)
    assert measured(problem, Uniform(), 0, 10)["iterations"] is None


def test_summaries_without_points():
    """All runs too long: a sentence, not a crash at the end of hours."""
    rows = [
        {"data": "x", "ratio": 1.0, "tau": tau, "seed": 0, "term": 1e9, "iterations": None}
        for tau in (1, 8)
    ]
    assert speedups(rows, tau=1) == []
    assert "limit" in EXPERIMENTS["batch"].summary(rows)


def test_iterations_of_acceleration_are_not_interpolated():
    """Nothing is shared, so an example that was not visited has no part in a small gap."""
    problem = Problem(*datasets.shared_by(1, 256), losses.SmoothedHinge(), lam=1 / 256)
    found = iterations_to(problem, 1e-6, 500, Accelerated(Nice(4)), seed=0)
    assert found >= 256 / 4 * np.log(256) * 0.8  # of a coupon collector


def test_spread_along_products():
    spread = spread_along_products([1, 2, 1, 2], [2, 1, 4, 2], [2.0, 1.0, 4.0, 3.2])
    assert spread == {"all": 2.0, "tau >= 2": 1.25}


@pytest.mark.parametrize("method", list(compared.METHODS))
def test_methods_stay_below_their_own_bounds(method):
    row = compared._point("smoothed hinge, text-like", method, seed=0, n=120)
    assert 0 < row["count"] <= row["bound"]
    assert row["apart"] <= compared.GAP * (1 + 1e-6)
