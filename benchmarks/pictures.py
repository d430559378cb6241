"""Pictures of the comparison: relative gap against seconds, one picture for each data set."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import NullFormatter

FLOOR = 1e-12  # gaps of peers below the accuracy of D are drawn here
STYLES = ("o", "s", "^", "v", "D", "P", "X", "<", ">", "*")


def draw(results, folder):
    """Write FOLDER/gap-NAME.png for every data set of the results."""
    for name in dict.fromkeys(r["data"] for r in results):
        path = Path(folder) / f"gap-{name}.png"
        draw_one(name, [r for r in results if r["data"] == name], path)
        print(f"wrote {path}")


def draw_one(name, results, path):
    losses = list(dict.fromkeys(r["loss"] for r in results))
    lams = list(dict.fromkeys(r["lam"] for r in results))
    solvers = sorted({solver for r in results for solver in r["curves"]} - {"Quartz"})
    shades = plt.get_cmap("viridis")([k / len(solvers) for k in range(len(solvers))])
    colors = dict(zip(solvers, shades, strict=True))
    markers = dict(zip(solvers, STYLES * 3, strict=False))
    figure, axes = plt.subplots(
        len(losses),
        len(lams),
        figsize=(max(9, 4.2 * len(lams)), 3.2 * len(losses) + 0.8),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    shown = {}
    for r in results:
        axis = axes[losses.index(r["loss"])][lams.index(r["lam"])]
        for solver, curve in r["curves"].items():
            mine = solver == "Quartz"
            (line,) = axis.loglog(
                curve["seconds"],
                [max(gap, FLOOR) for gap in curve["gap"]],
                color="black" if mine else colors[solver],
                marker="." if mine else markers[solver],
                linewidth=2.5 if mine else 0.8,
                markersize=8 if mine else 5,
                zorder=3 if mine else 2,
            )
            shown[solver] = line
        axis.set_title(f"{r['loss']}, lam = {r['lam']}", fontsize=10)
        axis.grid(True, which="major", alpha=0.3)
        axis.set_ylim(FLOOR / 2, 2)
        axis.xaxis.set_minor_formatter(NullFormatter())  # they would overlap
    for axis in axes[-1]:
        axis.set_xlabel("seconds of one fit")
    for row in axes:
        row[0].set_ylabel("relative gap")
    names = ["Quartz", *solvers]
    figure.legend([shown[s] for s in names], names, loc="outside lower center", ncols=6, fontsize=9)
    figure.suptitle(f"{name}: gap against seconds (Quartz: certificates of one run)")
    figure.savefig(path, dpi=110)
    plt.close(figure)
