"""Measures m3svm against LIBLINEAR, LIBSVM and scikit-learn on the methods that they share.

    python bench/rivals.py --sets glass vehicle --methods lr cs --limit 60 --out rivals.jsonl

Every program fits the same arrays (C = 1 unless `--cost` says otherwise) until its objective is within 1e-4 and 1e-6
of the optimum. One NumPy function per method judges everybody's weights; the optimum is that of our own fit with a
certified gap of 1e-10, or 1e-8 where that takes too long. For each program, ours included, the loosest tolerance of a ladder of half decades that gets
there counts: best time of three fits, one if it takes more than 5 s. Only the fit is timed, in a process that has
fitted before. All may use two threads; LIBLINEAR, LIBSVM and saga have only one.

Finished measurements are lines of `--out` and not measured again: an interrupted run goes on where it stood. Run it on
an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rival_fits import METHODS, THREADS

HERE = Path(__file__).resolve().parent
SETS = ("glass", "vehicle", "dermatology", "isolet", "orl", "usps", "optdigits", "letter", "news20")
TARGETS = (1e-4, 1e-6)
#: The reference is no contestant and gets more time.
REFERENCE_PATIENCE = 5.0
#: A reference with a larger gap is pointed out.
CERTIFIED = 1e-8
#: Reading the data and the first, uncounted, fit.
START = 300.0

Key = tuple[str, str, str, float]


class Late(Exception):
    """A fit took too long."""


def child(arguments: list[str], limit: float) -> Iterator[dict[str, Any]]:
    """The lines of one `rival_fits.py`; ended as soon as a fit takes longer than the limit."""
    return child_of([sys.executable, str(HERE / "rival_fits.py"), *arguments], limit)


def child_of(command: list[str], limit: float) -> Iterator[dict[str, Any]]:
    """The lines of a program that says when it begins a fit; ended as soon as one takes longer than the limit."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines: queue.Queue[str] = queue.Queue()
    errors: list[str] = []

    def read() -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    readers = [threading.Thread(target=read), threading.Thread(target=lambda: errors.append(process.stderr.read()))]
    for reader in readers:
        reader.start()
    patience = START
    try:
        while True:
            try:
                line = lines.get(timeout=patience)
            except queue.Empty:
                raise Late from None
            if not line:
                process.wait()
                break
            found = json.loads(line)
            patience = limit if "begin" in found else START
            yield found
    finally:
        process.kill()
        process.wait()
        for reader in readers:
            reader.join()
    if process.returncode:
        last = errors[0].strip().splitlines()[-1:] or [f"exit status {process.returncode}"]
        raise RuntimeError(last[0])


def reference(name: str, method: str, cost: float, limit: float) -> dict[str, Any]:
    """The optimum, by our tightest fit; if that takes too long, by the best of the others that end in time."""
    others: list[dict[str, Any]] = []
    failed = {"why": f"nobody ends within {REFERENCE_PATIENCE * limit:g} s"}
    for program in ("ours", *METHODS[method].rivals):
        row: dict[str, Any] = {"by": program}
        try:
            for line in child([name, method, program, repr(cost), "none"], REFERENCE_PATIENCE * limit):
                row |= line
        except Late:
            if "objective" not in row:
                continue
        except RuntimeError as error:
            failed = {"why": str(error)}
            continue
        found = {key: row[key] for key in ("by", "rows", "features", "classes", "objective", "gap")}
        if program == "ours":
            return found
        others.append(found)
    return min(others, key=lambda found: found["objective"], default=failed)


def measure(name: str, method: str, program: str, cost: float, optimum: float, limit: float) -> dict[str, Any]:
    """Seconds to every target, or None with the reason why not."""
    reached: dict[str, Any] = {}
    ladder: list[dict[str, Any]] = []
    why, under_way = "gets no closer", None
    try:
        arguments = [name, method, program, repr(cost), repr(optimum), *map(repr, TARGETS)]
        for line in child(arguments, limit):
            under_way = line.get("begin", under_way)
            if "tol" not in line:
                continue
            ladder.append(line)
            for target in line["reached"]:
                reached[f"{target:g}"] = {"seconds": min(line["seconds"]), "tol": line["tol"], "gap": line["gap"]}
    except Late:
        why = f"> {limit:g} s" if under_way is not None else f"> {START:g} s before the first fit"
    except RuntimeError as error:
        why = "needs too much memory" if "MemoryError" in str(error) else str(error)
    return {"reached": reached, "why": None if len(reached) == len(TARGETS) else told(why, ladder), "ladder": ladder}


def told(why: str, ladder: list[dict[str, Any]]) -> str:
    """Why a target was missed, and how close the program came."""
    closest = min((line["gap"] for line in ladder), default=None)
    return why if closest is None else f"{why} (gap {closest:.0e})"


def known(path: Path) -> dict[Key, dict[str, Any]]:
    """What earlier runs have finished; a line that was cut off is not."""
    rows = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        rows[row["set"], row["method"], row["program"], row["cost"]] = row
    return rows


def about() -> dict[str, Any]:
    """What the numbers depend on besides the code."""
    packages = ("m3svm", "scikit-learn", "liblinear-official", "numpy", "scipy")
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()) if sys.platform == "linux" else None
    processor = model[1] if model else platform.processor()
    return {name: version(name) for name in packages} | {"threads": THREADS, "processor": processor}


def run(args: argparse.Namespace) -> dict[Key, dict[str, Any]]:
    """Measures what is missing, writing down each piece as it is finished."""
    args.out.parent.mkdir(parents=True, exist_ok=True)
    rows = known(args.out)
    with args.out.open("a") as sink:
        for name in args.sets:
            for method in args.methods:
                optimum: float | None = None
                for program in ("reference", "ours", *METHODS[method].rivals):
                    key = (name, method, program, args.cost)
                    if key not in rows:
                        print(f"{name} {method} {program}", file=sys.stderr, flush=True)
                        rows[key] = one(key, optimum, args.limit)
                        print(json.dumps(rows[key]), file=sink, flush=True)
                    if program == "reference":
                        optimum = rows[key].get("objective")
                    if optimum is None:
                        break
    return rows


def one(key: Key, optimum: float | None, limit: float) -> dict[str, Any]:
    """One measurement."""
    name, method, program, cost = key
    row = {"set": name, "method": method, "program": program, "cost": cost, "limit": limit}
    row |= {"about": about(), "load": os.getloadavg()[0], "at": time.strftime("%Y-%m-%d %H:%M")}
    if program != "reference":
        return row | measure(name, method, program, cost, optimum, limit)
    return row | reference(name, method, cost, limit)


def cell(row: dict[str, Any] | None, target: float) -> tuple[str, float | None, bool]:
    """A time as text, the time or the least that it can be, and whether it is exact."""
    if row is None:
        return "-", None, False
    found = row["reached"].get(f"{target:g}")
    if found:
        seconds = found["seconds"]
        return (f"{1e3 * seconds:.3g} ms" if seconds < 1.0 else f"{seconds:.3g} s"), seconds, True
    return row["why"], row["limit"] if row["why"].startswith(">") else None, False


def table(
    rows: dict[Key, dict[str, Any]], sets: list[str], methods: list[str], cost: float
) -> tuple[list[str], int, int]:
    """The results as lines of Markdown; how often we are the fastest, and of how many."""
    lines = ["| Set | Method | Gap | Ours | Best of the others | Ratio | All others |", "|---|---|---|---|---|---|---|"]
    won = contests = 0
    for name in sets:
        for method in methods:
            if (name, method, "ours", cost) not in rows:
                why = rows.get((name, method, "reference", cost), {}).get("why", "not measured")
                lines.append(f"| {name} | {method} | | no reference: {why} | | | |")
                continue
            found = rows[name, method, "reference", cost]
            if found["gap"] is None:
                lines.append(f"| {name} | {method} | | the reference, by {found['by']}, is not certified | | | |")
            elif not found["gap"] <= CERTIFIED:
                lines.append(f"| {name} | {method} | | the reference is within {found['gap']:.0e} only | | | |")
            for target in TARGETS:
                mine, my_seconds, exact = cell(rows[name, method, "ours", cost], target)
                others = {p: cell(rows.get((name, method, p, cost)), target) for p in METHODS[method].rivals}
                timed = {p: seconds for p, (_, seconds, _) in others.items() if seconds is not None}
                best = min(timed, key=lambda p: (timed[p], not others[p][2]), default=None)
                ratio = "-"
                if best is not None and exact:
                    times = timed[best] / my_seconds
                    ratio = f"{'' if others[best][2] else '> '}{times:.3g}"
                if others:
                    contests += 1
                    won += exact and (best is None or timed[best] > my_seconds)
                said = f"{best}: {others[best][0]}" if best else "-"
                rest = "; ".join(f"{p}: {text}" for p, (text, _, _) in others.items() if p != best)
                lines.append(f"| {name} | {method} | {target:g} | {mine} | {said} | {ratio} | {rest} |")
    return lines, won, contests


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, metavar="SET")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    parser.add_argument("--cost", type=float, default=1.0, help="C of the other programs (default 1)")
    parser.add_argument("--limit", type=float, default=60.0, help="most seconds of one fit (default 60)")
    parser.add_argument("--out", type=Path, default=Path("rivals.jsonl"), help="measurements (default rivals.jsonl)")
    parser.add_argument("--markdown", type=Path, help="put the table between the marks of this file")
    args = parser.parse_args()
    lines, won, contests = table(run(args), args.sets, args.methods, args.cost)
    verdict = f"Ours is the fastest in {won} of {contests} contests."
    print("\n".join([*lines, "", verdict]))
    if args.markdown:
        text = args.markdown.read_text()
        facts = ", ".join(f"{key} {value}" for key, value in about().items())
        filling = "\n".join(["<!-- table -->", f"Measured with C = {args.cost:g}: {facts}.", "", *lines, "", verdict])
        new = re.sub(r"<!-- table -->.*?(?=<!-- end -->)", lambda _: filling + "\n", text, flags=re.DOTALL)
        args.markdown.write_text(new)


if __name__ == "__main__":
    main()
