"""CPU seconds of this tree and of an older commit, in turn: what a change costs or gains.

    python -m benchmarks.versions BASE [--cells a9a w8a ...] [--repeats 7]

Each version runs in a process of its own, on one thread, from the same data; the two are asked for
one solve after another, and minima count. A ratio below 1 says that this tree is faster. Passes
tell whether both did the same work.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

LAMS = {"1/sqrt n": lambda n: n**-0.5, "1/n": lambda n: 1 / n, ".1/n": lambda n: 0.1 / n}
LAMS[".01/n"] = lambda n: 0.01 / n

# Data, loss, lam, intercept, penalty: the kinds of problem for which the library was fast early.
CELLS = [
    ("a9a", "SquaredHinge", ".1/n", None, "L2"),
    ("a9a", "Logistic", "1/n", "free", "L2"),
    ("a9a", "Hinge", "1/n", None, "L2"),
    ("a9a", "Logistic", "1/n", "free", "ElasticNet"),
    ("w8a", "SquaredHinge", "1/sqrt n", None, "L2"),
    ("w8a", "SquaredHinge", ".01/n", None, "L2"),
    ("w8a", "Logistic", ".1/n", "free", "L2"),
    ("ijcnn1", "SmoothedHinge", "1/n", None, "L2"),
    ("ijcnn1", "Logistic", ".1/n", "free", "L2"),
    ("cov1", "SquaredHinge", "1/sqrt n", None, "L2"),
    ("cov1", "Logistic", ".1/n", "free", "L2"),
    ("news20", "SquaredHinge", "1/n", None, "L2"),
    ("news20", "Logistic", "1/n", "free", "L2"),
    ("news20", "Hinge", "1/n", None, "L2"),
    ("debian_desc", "SquaredHinge", ".1/n", None, "L2"),
    ("debian_desc", "Logistic", ".01/n", "free", "L2"),
    ("debian_desc", "Logistic", "1/sqrt n", "free", "ElasticNet"),
    ("debian_desc", "Squared", "1/n", None, "L2"),
    ("mnist", "SquaredHinge", "1/n", None, "L2"),
    ("ccat-like", "SquaredHinge", "1/n", None, "L2"),
    ("ccat-like", "Logistic", "1/n", "free", "L2"),
]


def serve() -> None:
    """Answer each cell on standard input with its seconds and passes: one version's process."""
    from threadpoolctl import threadpool_limits

    from experiments import datasets
    from quartz import Problem, losses, regularizers, solve

    threadpool_limits(1)  # after the imports, which load their own thread pools
    loaded: dict[str, object] = {}
    for line in sys.stdin:
        name, loss, lam, intercept, penalty = json.loads(line)["cell"]
        if name not in loaded:
            loaded = {name: datasets.load(name)}
        X, y = loaded[name]
        began = time.process_time()
        problem = Problem(
            X,
            y,
            getattr(losses, loss)(),
            LAMS[lam](X.shape[0]),
            getattr(regularizers, penalty)(),
            intercept=intercept,
        )
        result = solve(problem, tol=1e-6)
        seconds = time.process_time() - began
        answer = {"seconds": seconds, "passes": result.trace.passes[-1]}
        print(json.dumps(answer | {"gap": result.certificate.relative_gap}), flush=True)


class Version:
    """A process that solves with the sources of one tree."""

    def __init__(self, source: Path, cache: Path) -> None:
        root = Path(__file__).resolve().parents[1]
        environment = os.environ | {
            "PYTHONPATH": f"{source}{os.pathsep}{root}",
            "NUMBA_CACHE_DIR": str(cache),
        }
        command = [sys.executable, "-m", "benchmarks.versions", "--serve"]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def solve(self, cell: tuple[str | None, ...]) -> dict[str, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps({"cell": cell}), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compare(base: str, names: list[str] | None, repeats: int) -> None:
    """Print a table of all cells."""
    root = Path(__file__).resolve().parents[1]
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(
            ["git", "worktree", "add", "--detach", "--quiet", tree, base], cwd=root, check=True
        )
        try:
            versions = [
                Version(source / "src", Path(folder) / name)
                for name, source in (("old", tree), ("new", root))
            ]
            print("| cell | passes old | new | ms old | new | ratio |\n|---|---|---|---|---|---|")
            for cell in CELLS:
                if names and cell[0] not in names:
                    continue
                for version in versions:
                    version.solve(cell)  # compiles
                answers: list[list[dict[str, float]]] = [[], []]
                for _ in range(repeats):
                    for version, found in zip(versions, answers, strict=True):
                        found.append(version.solve(cell))
                old, new = (min(each["seconds"] for each in found) for found in answers)
                passes = [f"{found[0]['passes']:.4f}" for found in answers]
                ratios.append(new / old)
                kind = ", ".join(part for part in cell if part)
                print(
                    f"| {kind} | {passes[0]} | {passes[1]} | {1e3 * old:.1f} | {1e3 * new:.1f} | "
                    f"{new / old:.2f} |",
                    flush=True,
                )
            for version in versions:
                version.close()
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=root, check=True)
    mean = float(np.exp(np.mean(np.log(ratios))))
    print(f"\nGeometric mean {mean:.3f}, worst {max(ratios):.2f}, best {min(ratios):.2f}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", nargs="?", help="an older commit")
    parser.add_argument("--cells", nargs="+", metavar="DATA", help="only these data")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
    elif options.base is None:
        parser.error("name a commit to compare with, such as HEAD~20")
    else:
        compare(options.base, options.cells, options.repeats)


if __name__ == "__main__":
    main()
