"""Measures shapes of data instead of data sets: where this package is ahead of LIBLINEAR, LIBSVM and scikit-learn, and where not.

    python bench/atlas.py --table --limit 100
    python bench/atlas.py --small --limit 20 --out bench/atlas.jsonl
    python bench/atlas.py --report bench/ATLAS.md --picture bench/atlas.svg --out bench/atlas.jsonl

A cell is a shape (rows, features, classes, density, ...) and a method; its data are generated from its numbers. For
each distance from the optimum (1e-2, 1e-4, 1e-6) the loosest tolerance of a ladder that gets there counts, for every
program alike: the time that the processor has worked, one thread each, and the memory that the fit has added. The
optimum is that of our own fit to a proven gap of 1e-8, or the best point that anybody has found. Finished measurements
are lines of `--out` and not measured again: an interrupted run goes on where it stood.

`--table` measures a few shapes that were slow once, and prints a table: ours to a proven 1e-3, the others at their own
default tolerance, in turn, the least processor time of a few rounds.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import subprocess
import sys
from dataclasses import asdict, fields
from html import escape
from pathlib import Path
from typing import Any

from atlas_data import METHODS, TABLE, Cell, grid
from rivals import Late, child_of

HERE = Path(__file__).resolve().parent
TARGETS = (1e-2, 1e-4, 1e-6)
#: Differences below this do not count.
SHORT = 0.02
PROGRAMS = {
    "ovr": ("LinearSVC", "SGD"),
    "cs": ("LinearSVC",),
    "ovo": ("SVC",),
    "lr": ("lbfgs", "newton-cg", "saga"),
    "smlr": ("saga",),
}
#: LIBLINEAR penalises its intercept, which makes the problem another one: there its distance is that from the best it has found itself.
PENALISED = {("ovr", "LinearSVC"), ("cs", "LinearSVC")}

Row = dict[str, Any]


def name(cell: Cell) -> str:
    """What makes the cell another one than that in the middle."""
    plain = Cell(cell.method)
    said = [
        f"{f.name}={getattr(cell, f.name)}" for f in fields(cell) if getattr(cell, f.name) != getattr(plain, f.name)
    ]
    return " ".join(said) or "middle"


def measure(cell: Cell, program: str, limit: float) -> Row:
    """All fits of one program that end in time."""
    ladder: list[Row] = []
    why = ""
    command = [sys.executable, str(HERE / "atlas_fit.py"), json.dumps(asdict(cell)), program]
    try:
        ladder += [line for line in child_of(command, limit) if "seconds" in line]
    except Late:
        why = f"more than {limit:g} s"
    except RuntimeError as error:
        why = str(error)
    return {"cell": asdict(cell), "program": program, "limit": limit, "ladder": ladder, "why": why}


def once(cell: Cell, program: str, limit: float) -> Row:
    """One fit."""
    command = [sys.executable, str(HERE / "atlas_fit.py"), json.dumps(asdict(cell)), program, "once"]
    try:
        return [line for line in child_of(command, limit) if "seconds" in line][-1]
    except Late:
        return {"late": limit}


def table(cells: str, rounds: int, limit: float) -> str:
    """The shapes of the table whose line has `cells` in it, as Markdown."""
    chosen = [(cell, peer) for cell, peer in TABLE if cells in f"{cell.method} {name(cell)}"]
    found: dict[tuple[int, str], list[Row]] = {}
    for _ in range(rounds):
        for number, (cell, peer) in enumerate(chosen):
            for program in ("ours", peer):
                runs = found.setdefault((number, program), [])
                if not any("late" in run for run in runs):
                    runs.append(once(cell, program, limit))
    text = ["| method | shape | ours | gap | peer | ratio | memory |", "|---|---|---|---|---|---|---|"]
    for number, (cell, peer) in enumerate(chosen):
        mine, theirs = (
            min(found[number, program], key=lambda run: run.get("seconds", math.inf)) for program in ("ours", peer)
        )
        said = [f"{run['seconds']:.2f} s" if "seconds" in run else f"> {run['late']:g} s" for run in (mine, theirs)]
        ratio = f"{theirs['seconds'] / mine['seconds']:.2f}" if "seconds" in mine and "seconds" in theirs else ""
        gap, memory = mine.get("gap"), [f"{run.get('memory', math.nan):.0f}" for run in (mine, theirs)]
        near = f"{gap:.0e}" if gap is not None else ""
        text.append(
            f"| {cell.method} | {name(cell)} | {said[0]} | {near} | {peer} {said[1]} | {ratio} | {memory[0]} / {memory[1]} MB |"
        )
    return "\n".join(text)


def reached(row: Row, optimum: float | None, target: float) -> tuple[float, float] | None:
    """Least seconds, with their memory, to a distance from the optimum; by our own proof where nobody else has the method."""
    found = []
    for line in row["ladder"]:
        value = line.get("objective", line.get("own"))
        gap = line["gap"] if optimum is None else (value - optimum) / max(abs(optimum), 1e-300)
        if gap is not None and gap <= target:
            found.append((line["seconds"], line["memory"]))
    return min(found, default=None)


def best_of(rows: list[Row]) -> float | None:
    """The least objective that any of these fits has come to."""
    return min((line["objective"] for row in rows for line in row["ladder"] if "objective" in line), default=None)


def compared(rows: list[Row]) -> list[Row]:
    """A line per cell and distance: ours, the best of the others, and the ratio (theirs over ours)."""
    cells: dict[str, list[Row]] = {}
    for row in rows:
        cells.setdefault(json.dumps(row["cell"]), []).append(row)
    out = []
    for key, programs in cells.items():
        cell = Cell(**json.loads(key))
        comparable = [row for row in programs if not (cell.intercept and (cell.method, row["program"]) in PENALISED)]
        optimum = best_of(comparable)
        own = next((row for row in programs if row["program"] == "ours"), None)
        for target in TARGETS:
            mine = reached(own, optimum, target) if own else None
            others = {}
            for row in programs:
                if row["program"] == "ours":
                    continue
                own_problem = cell.intercept and (cell.method, row["program"]) in PENALISED
                if theirs := reached(row, best_of([row]) if own_problem else optimum, target):
                    others[row["program"]] = theirs
            best = min(others, key=lambda program: others[program][0], default=None)
            ratio = None
            if mine and best:
                ratio = 1.0 if abs(others[best][0] - mine[0]) < SHORT else others[best][0] / max(mine[0], 1e-6)
            out.append(
                {"cell": cell, "target": target, "ours": mine, "best": best, "theirs": others.get(best), "ratio": ratio}
            )
    return out


def report(lines: list[Row], about: str) -> str:
    """Wins, losses and every cell, as Markdown."""
    ratios = [line["ratio"] for line in lines if line["ratio"] is not None]
    late = [line for line in lines if line["best"] and not line["ours"]]
    alone = [line for line in lines if line["ours"] and not line["best"]]
    text = ["# The atlas of shapes", "", about, ""]
    if ratios:
        worst = min((line for line in lines if line["ratio"] is not None), key=lambda line: line["ratio"])
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        text += [
            f"{len(ratios)} comparisons: ahead or level in {sum(r >= 1.0 for r in ratios)}, slower than 1.5 times the best "
            f"of the others in {sum(r < 1 / 1.5 for r in ratios)}, than 3 times in {sum(r < 1 / 3 for r in ratios)}. Geometric "
            f"mean {mean:.2f}. Worst: {worst['cell'].method}, {name(worst['cell'])}, to {worst['target']:g}: "
            f"{worst['ratio']:.2f} ({worst['best']}).",
            f"In {len(late)} more only another program got there in time, in {len(alone)} only ours (or nobody else has the method).",
            "",
        ]
    text += ["| shape | method | to | ours | best other | ratio |", "|---|---|---|---|---|---|"]
    for line in lines:
        if line["ours"] is None and line["best"] is None:
            continue
        mine, theirs = (
            f"{at[0]:.3f} s, {at[1]:.0f} MB" if at else "not in time" for at in (line["ours"], line["theirs"])
        )
        ratio = f"{line['ratio']:.2f}" if line["ratio"] is not None else ""
        text.append(
            f"| {name(line['cell'])} | {line['cell'].method} | {line['target']:g} | {mine} | {line['best'] or ''} {theirs} | {ratio} |"
        )
    return "\n".join(text) + "\n"


def picture(lines: list[Row]) -> str:
    """A heat map: a row per shape, a column per method and distance; green is ahead, red behind."""
    shapes = list(dict.fromkeys(name(line["cell"]) for line in lines))
    columns = [(method, target) for method in METHODS for target in TARGETS]
    at = {(name(line["cell"]), line["cell"].method, line["target"]): line for line in lines}
    left, top, wide, high = 330, 40, 34, 16
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + wide * len(columns) + 10}" height="{top + high * len(shapes) + 10}" '
        'font-family="sans-serif" font-size="10">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for number, (method, target) in enumerate(columns):
        x = left + wide * number
        if number % len(TARGETS) == 0:
            out.append(f'<text x="{x}" y="14" font-weight="bold">{method}</text>')
        out.append(f'<text x="{x}" y="32">{target:g}</text>')
    for row, shape in enumerate(shapes):
        y = top + high * row
        out.append(f'<text x="4" y="{y + 12}">{escape(shape)}</text>')
        for number, (method, target) in enumerate(columns):
            fill, said = _cell(at.get((shape, method, target)))
            x = left + wide * number
            out.append(f'<rect x="{x}" y="{y}" width="{wide - 1}" height="{high - 1}" fill="{fill}"/>')
            out.append(f'<text x="{x + 3}" y="{y + 11}">{said}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def _cell(line: Row | None) -> tuple[str, str]:
    if line is None or (line["ours"] is None and line["best"] is None):
        return "#eeeeee", ""
    if line["ours"] is None:
        return "#d73027", "late"
    if line["ratio"] is None:
        return "#d9f0d3", "alone"
    # From red at a third or less over white at 1 to green at three times or more.
    share = max(-1.0, min(1.0, math.log(line["ratio"]) / math.log(3.0)))
    other = round(255 - 155 * abs(share))
    fill = f"rgb({other},230,{other})" if share >= 0 else f"rgb(240,{other},{other})"
    return fill, f"{line['ratio']:.2g}" if line["ratio"] < 100 else "&gt;99"


def machine() -> str:
    """What the numbers belong to."""
    git = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    return f"commit {commit}, {platform.processor() or platform.machine()}, {platform.system()}, Python {platform.python_version()}"


def main() -> None:
    """Measures what is missing, then writes what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="cells that take minutes, not days")
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one fit")
    parser.add_argument("--out", type=Path, default=HERE / "atlas.jsonl")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--table", action="store_true", help="the few shapes of the table instead")
    parser.add_argument("--cells", default="", help="those of them whose method and shape have this in them")
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.table:
        print(f"Measured with {machine()}.\n\n{table(arguments.cells, arguments.rounds, arguments.limit)}")
        return
    rows = [json.loads(line) for line in arguments.out.read_text().splitlines()] if arguments.out.exists() else []
    known = {(json.dumps(row["cell"]), row["program"]) for row in rows}
    if not (arguments.report or arguments.picture):
        for cell in grid(arguments.small):
            if cell.method not in arguments.methods:
                continue
            for program in ("ours", *PROGRAMS.get(cell.method, ())):
                if (json.dumps(asdict(cell)), program) in known:
                    continue
                row = measure(cell, program, arguments.limit) | {"about": machine()}
                with arguments.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(cell.method, name(cell), program, len(row["ladder"]), row["why"], flush=True)
        return
    lines = compared(rows)
    about = "Measured with " + "; ".join(sorted({row["about"] for row in rows})) + "."
    if arguments.report:
        arguments.report.write_text(report(lines, about))
    if arguments.picture:
        arguments.picture.write_text(picture(lines))


if __name__ == "__main__":
    main()
