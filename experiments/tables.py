"""Tables [tab-comtauxxx], [tab-comtau] and [tab-comtau987987], with numbers in their formulas."""

from collections.abc import Iterator
from functools import partial

from experiments import datasets
from experiments.base import Experiment, Row, Task, markdown, where
from quartz import Plan, Problem, losses, theory
from quartz.samplings import Nice, Uniform

N, TAU = 10**6, 100
OMEGAS = (1, 10**3, 10**6)
SMALL, SMALL_TAU = 1024, 16  # where plans are made and compared with the formulas
STRENGTHS = {"1/sqrt(n)": N**-0.5, "1/tau": 1 / TAU, "1": 1.0, "tau": TAU, "sqrt(n)": N**0.5}


class Tables(Experiment):
    """The complexity tables, and the first one also from plans for data at hand."""

    name = "tables"
    title = "Tables of complexities"

    def tasks(self, quick: bool) -> Iterator[Task]:
        for data in ("any", "fully sparse", "fully dense", "omega = 32"):
            yield Task({"table": "tab-comtauxxx", "data": data}, partial(_sampled, data))
        for omega in OMEGAS:
            key = {"table": "tab-comtau", "omega": omega}
            yield Task(key, partial(theory.leading_terms, N, TAU, 1 / N, 1.0, omega))
        for omega in OMEGAS:
            for regime in STRENGTHS:
                key = {"table": "tab-comtau987987", "omega": omega, "lam gamma n": regime}
                yield Task(key, partial(_regime, omega, regime))

    def summary(self, rows: list[Row]) -> str:
        parts = []
        notes = {
            "tab-comtauxxx": f"n = {SMALL:,}, unit rows, lam gamma n = 1, tau = {SMALL_TAU}:",
            "tab-comtau": f"n = {N:,}, tau = {TAU}, lam gamma n = 1:",
            "tab-comtau987987": f"n = {N:,}, tau = {TAU}; the table's entry, and in brackets the "
            "bound of [tab-comtau] there, constants included:",
        }
        for table, note in notes.items():
            found = where(rows, table=table)
            shown = [{k: v for k, v in row.items() if k != "table"} for row in found]
            parts.append(f"[{table}], {note}\n\n{markdown(shown)}")
        return "\n\n".join(parts)


def _sampled(data: str) -> Row:
    """The formula, and max_i (1/p_i)(1 + v_i / (lam gamma n)) of the plan."""
    omega = {"any": 1, "fully sparse": 1, "fully dense": SMALL, "omega = 32": 32}[data]
    tau = 1 if data == "any" else SMALL_TAU
    problem = Problem(*datasets.shared_by(omega, SMALL), losses.SmoothedHinge(), lam=1 / SMALL)
    plan = Plan.of(problem, Uniform() if tau == 1 else Nice(tau))
    formula = theory.nice_leading_term(SMALL, tau, problem.lam, 1.0, omega)
    return {
        "sampling": "serial uniform" if tau == 1 else "tau-nice",
        "formula": float(formula),
        "plan": theory.leading_term(plan.p, plan.v, problem.lam, 1.0, SMALL),
    }


def _regime(omega: int, regime: str) -> Row:
    entries = theory.regime_table(N, TAU, omega)[regime]
    bounds = theory.leading_terms(N, TAU, STRENGTHS[regime] / N, 1.0, omega)
    return {method: f"{entries[method]:.3g} ({bounds[method]:.3g})" for method in entries}
