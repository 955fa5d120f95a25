"""Runs m3svm and the baselines side by side and says which speed targets are met.

(a) Time to a relative gap of 1e-6 against SciPy's L-BFGS-B; F* is the lower bound m3svm proves.
(b) Time to the objective that 500 epochs of Adam end with, against the time of those epochs.

    python bench/compare.py --sets glass vehicle --limit 300 --out results.json

Times are wall times of fitting alone in a warm process, medians of `--repeats` runs on both sides. Ours are those of the
example `time_fit` and include the scaling of the features, which the baselines get done. m3svm gets two threads;
each baseline gets one or two, whichever is faster. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from baselines import LEARNING_RATES, THREADS, TOLERANCE, measure, versions
from problem import DELTA, ROOT, SETS, data_file

SMALL = ("glass", "vehicle", "dermatology")
ADAM_TARGET = 5.0


def scipy_target(name: str) -> float:
    """How many times faster than L-BFGS-B we want to be."""
    return 50.0 if name in SMALL else 10.0


def fit(binary: Path, name: str, repeats: int, options: Sequence[str] = ()) -> dict[str, Any]:
    """Fits a set several times in one process, after one that is not counted; the JSON answer."""
    path = data_file(name)
    command = [str(binary), str(path), "--delta", str(DELTA), "--tol", str(TOLERANCE), "--repeats", str(repeats)]
    if ".csv" in path.name:
        command += ["--label", "label"]
    command += options
    environment = os.environ | {"RAYON_NUM_THREADS": str(THREADS)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"{name}: time_fit failed ({done.returncode}): {done.stderr.strip()}")
    return json.loads(done.stdout)


def first_time(trace: Sequence[Sequence[float]], objective: float) -> float | None:
    """Seconds until a run is at or below the objective; None if it never is."""
    return next((seconds for seconds, value in trace if value <= objective), None)


def ours(run: dict[str, Any]) -> dict[str, Any]:
    """What `fit` says, as fields of a row; the median of its runs counts."""
    gap = (run["objective"] - run["lower_bound"]) / abs(run["lower_bound"])
    return {
        "our_seconds": statistics.median(run["seconds"]),
        "our_seconds_all": run["seconds"],
        "our_objective": run["objective"],
        "our_lower_bound": run["lower_bound"],
        "our_gap": gap,
        "our_stop": run["stop"],
        "our_iterations": run["iterations"],
    }


def our_time_to(run: dict[str, Any], objective: float) -> float | None:
    """Median time to an objective value; None unless every run gets there."""
    # The watcher is not called once more at the end, where the final objective is known.
    ends = zip(run["traces"], run["seconds"], strict=True)
    times = [first_time([*trace, (seconds, run["objective"])], objective) for trace, seconds in ends]
    return None if None in times else statistics.median(times)


def own_adam(binary: Path, name: str, repeats: int) -> dict[str, Any]:
    """The recipe with the Adam of m3svm itself, for machines without PyTorch."""
    run = fit(binary, name, repeats, ["--adam", str(LEARNING_RATES[name])])
    seconds = statistics.median(run["seconds"])
    return {"adam_seconds": seconds, "adam_objective": run["objective"], "adam_backend": "m3svm"}


def ratio(theirs: float, mine: float | None) -> float | None:
    """Their time over ours; a time too short for our clock counts as a microsecond."""
    return None if mine is None else theirs / max(mine, 1e-6)


def compare(binary: Path, name: str, limit: float, repeats: int) -> dict[str, Any]:
    """All numbers and verdicts of one set."""
    run = fit(binary, name, repeats)
    row = ours(run)
    row |= measure(name, row["our_lower_bound"], limit, repeats=repeats)
    if row["adam_backend"] != "torch":
        row |= own_adam(binary, name, repeats)
    row["our_seconds_to_adam"] = our_time_to(run, row["adam_objective"])
    row["ratio_scipy"] = ratio(row["scipy_seconds"], row["our_seconds"])
    row["ratio_adam"] = ratio(row["adam_seconds"], row["our_seconds_to_adam"])
    # A bound above a point somebody found is no bound; allow for rounding only.
    row["bound_ok"] = row["scipy_gap"] >= -1e-9 and row["our_gap"] >= -1e-9
    solved = row["bound_ok"] and row["our_gap"] <= TOLERANCE
    row["met_scipy"] = solved and row["ratio_scipy"] >= scipy_target(name)
    row["met_adam"] = row["ratio_adam"] is not None and row["ratio_adam"] >= ADAM_TARGET
    return row


def verdict(value: float | None, target: float, met: bool, at_least: bool = False) -> str:
    """A ratio with its target, as text."""
    shown = "never" if value is None else f"{'>' if at_least else ''}{value:.1f}x"
    return f"{shown} ({'met' if met else 'MISSED'}, >={target:.0f}x)"


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    mine = row["our_seconds_to_adam"]
    late = not row["scipy_reached"]
    cells = [
        f"{row['set']:<16}",
        f"{row['our_seconds']:>9.4f}",
        f"{row['our_gap']:>8.1e}",
        f"{'>' if late else ''}{row['scipy_seconds']:.3f}".rjust(10),
        verdict(row["ratio_scipy"], scipy_target(row["set"]), row["met_scipy"], late).ljust(26),
        ("-" if mine is None else f"{mine:.4f}").rjust(9),
        f"{row['adam_seconds']:>9.3f}",
        verdict(row["ratio_adam"], ADAM_TARGET, row["met_adam"]),
    ]
    notes = [] if row["bound_ok"] else ["LOWER BOUND WRONG"]
    if row["our_gap"] > TOLERANCE:
        notes.append("our gap above the tolerance")
    if late:
        notes.append(f"scipy: {row['scipy_note']}")
    return "  ".join(cells) + ("  ! " + "; ".join(notes) if notes else "")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, metavar="SET")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of L-BFGS-B per run (default 300)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each side, the median counts (default 3)")
    parser.add_argument("--out", type=Path, help="file for all numbers, as JSON")
    parser.add_argument("--binary", type=Path, help="use this time_fit instead of building one")
    args = parser.parse_args()
    if not args.binary:
        subprocess.run(["cargo", "build", "--release", "--example", "time_fit"], cwd=ROOT, check=True)
    binary = args.binary or ROOT / "target" / "release" / "examples" / "time_fit"
    about = versions() | {"load": os.getloadavg()[0]}
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    print("set                 ours s  our gap     scipy s  (a) ratio                   to adam s    adam s  (b) ratio")
    rows = []
    for name in args.sets:
        rows.append(compare(binary, name, args.limit, args.repeats))
        print(line(rows[-1]), flush=True)
        if args.out:
            args.out.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    missed = sum((not row["met_scipy"]) + (not row["met_adam"]) for row in rows)
    print(f"{2 * len(rows) - missed} of {2 * len(rows)} targets met")
    if rows[0]["adam_backend"] != "torch":
        print("PyTorch is not importable: the 500 epochs of (b) were run by the Adam of m3svm itself")


if __name__ == "__main__":
    main()
