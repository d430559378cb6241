"""The page of `benchmarks.everyday`: losses first, then means, then everything.

Ratios are the best peer's seconds over ours, so that a number below 1 is a loss: CPU seconds on one
thread, wall seconds on several.
"""

import numpy as np

TINY = 50_000  # numbers in X
WORST = 20


def key(row):
    """What identifies a cell."""
    return (row["data"], row["model"], row["lam"], row["gap"], row["threads"])


def write(out, results, missing, machine):
    """Write the page beside the JSON file, and return it."""
    text = "\n".join([*header(results, missing, machine), *sections(results)]) + "\n"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.with_suffix(".md").write_text(text)
    return text


def header(results, missing, machine):
    versions = ", ".join(f"{name} {v}" for name, v in machine["packages"].items() if v)
    commits = ", ".join(sorted({row["commit"] for row in results})) or "none"
    return [
        "# Everyday data\n",
        f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}; {versions}.",
        f"Commits of the results: {commits}.",
        f"Peers that could not be imported: {', '.join(missing) or 'none'}.",
        f"Cells in which a peer ran out of time: {sum(map(_cut_short, results))}.",
        *_failures(results),
    ]


def sections(results):
    if not results:
        return ["\nNo results."]
    return [
        *_losses(results),
        *_means(results),
        *_certificates(results),
        *_table(results),
    ]


def ours(row):
    return row["ours"][_clock(row)]


def best(row):
    """The fastest peer and its ratio; no name and infinity if none reached the gap."""
    seconds = {name: peer[_clock(row)] for name, peer in row["peers"].items()}
    if not seconds:
        return "", np.inf
    name = min(seconds, key=seconds.__getitem__)
    return name, seconds[name] / ours(row)


def ratio(row):
    """The best peer's over ours; 0 if ours missed the gap and a peer reached it."""
    value = best(row)[1]
    return 0.0 if not row["ours"]["met"] and value < np.inf else value


def _clock(row):
    return "cpu" if row["threads"] == 1 else "wall"


def _cut_short(row):
    """Whether a peer that was not slow had no time for all its tolerances."""
    return any(missed["why"] == "out of time" for missed in row["missed"].values())


def _failures(results):
    """Which peers raised errors, in how many cells, with the first message."""
    messages = {}
    for row in results:
        for name, message in row["failed"].items():
            messages.setdefault((row["model"], name), []).append(message)
    return [
        f"Failed: {name} ({model}) in {len(found)} cells, first with {found[0][:120]!r}."
        for (model, name), found in messages.items()
    ]


def _losses(results):
    lost = sorted((row for row in results if ratio(row) < 1), key=ratio)
    lines = [f"\n## Losses: {len(lost)} of {len(results)} cells\n"]
    if not lost:
        return [*lines, "None."]
    columns = ["data", "n x d", "model", "lam", "gap", "ours, ms", "best peer", "ratio"]
    lines += _heading(columns)
    for row in lost:
        shown = "ours missed" if not row["ours"]["met"] else f"{ratio(row):.2f}"
        lines.append(_line([*_where(row), _milliseconds(row), best(row)[0], shown]))
    return lines


def _means(results):
    """Geometric means over the cells in which both ours and a peer reached the gap.

    Undecided are those that only a peer without time for all its tolerances may have won.
    """
    lines = ["\n## Best peer over ours\n"]
    columns = ["model", "size", "cells", "geometric mean", "ahead of all", "undecided"]
    columns += ["no peer", "worst"]
    lines += _heading(columns)
    sizes = {"tiny": lambda row: _numbers(row) < TINY, "else": lambda row: _numbers(row) >= TINY}
    for model in [*dict.fromkeys(row["model"] for row in results), "all"]:
        for size, belongs in sizes.items():
            rows = [row for row in results if model in (row["model"], "all") and belongs(row)]
            if rows:
                lines.append(_line([model, size, str(len(rows)), *_summary(rows)]))
    worst = sorted(results, key=ratio)[:WORST]
    names = (f"{row['data']}, {row['model']}, {row['lam']}, {row['gap']:g}" for row in worst)
    found = (f"{ratio(row):.2g} ({name})" for row, name in zip(worst, names, strict=True))
    return [*lines, f"\nWorst cells: {'; '.join(found)}."]


def _summary(rows):
    ratios = np.array([ratio(row) for row in rows])
    finite = ratios[(ratios > 0) & np.isfinite(ratios)]
    mean = f"{np.exp(np.mean(np.log(finite))):.2f}" if finite.size else "-"
    ahead = np.array([ratio(row) > 1 and not _cut_short(row) for row in rows])
    undecided = sum(ratio(row) > 1 and _cut_short(row) for row in rows)
    alone = sum(not row["peers"] for row in rows)
    return [mean, f"{ahead.mean():.0%}", str(undecided), str(alone), f"{ratios.min():.2g}"]


def _certificates(results):
    """Cells in which ours missed its gap, or its P was not where the certificate says."""
    lines = ["\n## Certificates\n"]
    missed = [row for row in results if not row["ours"]["met"]]
    false = [row for row in results if row["ours"]["met"] and not row["ours"]["true"]]
    loose = [row for row in results if row["reference gap"] > 0.1 * row["gap"]]
    for what, rows in (
        ("ours missed the gap", missed),
        ("P is not within the certified gap", false),
        ("the reference is not much tighter than the gap", loose),
    ):
        cells = "; ".join(", ".join(_where(row)) for row in rows)
        lines.append(f"- {what}: {len(rows)} cells{': ' + cells if rows else ''}.")
    return lines


def _table(results):
    """One table for each model, with the peers' ratios."""
    lines = [
        "\n## All cells\n",
        "> : too slow to get there; ? : out of time on the way; - : not reached at any tolerance.",
    ]
    for model in dict.fromkeys(row["model"] for row in results):
        rows = [row for row in results if row["model"] == model]
        tried = [name for row in rows for name in (*row["peers"], *row["missed"])]
        peers = list(dict.fromkeys(tried))
        columns = ["data", "n x d", "lam", "gap", "ours, ms", "best peer", "ratio", *peers]
        lines += [f"\n### {model}\n", *_heading([*columns, "commit"])]
        for row in rows:
            data, size, _, lam, gap = _where(row)
            name, value = best(row)
            shown = [data, size, lam, gap, _milliseconds(row), name or "none", f"{value:.2f}"]
            entries = [_entry(row, peer) for peer in peers]
            lines.append(_line([*shown, *entries, row["commit"]]))
    return lines


def _entry(row, name):
    if name in row["peers"]:
        return f"{row['peers'][name][_clock(row)] / ours(row):.2g}"
    if name in row["missed"]:
        return {"too slow": ">", "out of time": "?", "": "-"}[row["missed"][name]["why"]]
    return "failed" if name in row["failed"] else ""


def _where(row):
    return [row["data"], f"{row['n']} x {row['d']}", row["model"], row["lam"], f"{row['gap']:g}"]


def _milliseconds(row):
    return f"{1e3 * ours(row):.2f}{'' if row['ours']['met'] else ' (missed)'}"


def _numbers(row):
    return row["n"] * row["d"]


def _heading(columns):
    return [_line(columns), "|---" * len(columns) + "|"]


def _line(columns):
    return "| " + " | ".join(columns) + " |"
