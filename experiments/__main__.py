"""python -m experiments NAME ... [--quick] [--out FOLDER]."""

import argparse
import sys
from pathlib import Path

try:
    from experiments.all import EXPERIMENTS
    from experiments.datasets import MissingDataError
    from experiments.runner import run
except ImportError as error:
    sys.exit(f"{error}. Experiments need more packages: pip install -e '.[experiments]'.")


def main(arguments: list[str] | None = None) -> int:
    """Run experiments by name, by default all; returns 1 if one could not run at all.

    Among all, one without its data is left out.
    """
    lines = "\n".join(f"  {name:12s} {e.title}" for name, e in EXPERIMENTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="The paper's tables and figures. Results that are there are kept: delete the "
        "JSON file of an experiment to run it again, also after a change of its constants.",
        epilog=f"experiments:\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="by default all")
    parser.add_argument("--quick", action="store_true", help="small sizes, five minutes in all")
    parser.add_argument("--out", type=Path, help="folder, default figures/full or figures/quick")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"no experiment {unknown[0]!r}; there are {', '.join(EXPERIMENTS)}.")
    folder = options.out or Path("figures") / ("quick" if options.quick else "full")
    status = 0
    for name in options.names or EXPERIMENTS:
        try:
            summary = run(EXPERIMENTS[name], folder, options.quick)
        except (ValueError, OSError) as error:
            print(f"{name}: left out. {error}", file=sys.stderr)
            if options.names or not isinstance(error, MissingDataError):
                status = 1
            continue
        except KeyboardInterrupt:
            print("\nStopped; run the same command again to go on.", file=sys.stderr)
            return 130
        print(f"\n## {EXPERIMENTS[name].title}\n\n{summary}\n\nSee {folder / name}*\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
