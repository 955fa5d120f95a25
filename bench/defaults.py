"""What is lost by not tuning: λ chosen by default, against grids that know more, and against scikit-learn's defaults.

    python bench/defaults.py --out bench/defaults.jsonl        # measures what the file does not have yet
    python bench/defaults.py --out bench/defaults.jsonl --table > bench/DEFAULTS.md

Every table is cut ten times into 70 % and 30 % of each class (`train_test_split`, stratified, the number of the split is
the seed). Everybody gets the same training rows, standardised by what they say, and is judged by the same test rows:

- default: `M3SVMClassifier(lam="auto", scale="standard")`, as `m3svm train` without options does it;
- best λ: the best of 25 values from 1e-7 to 1e5 with p = 4, and best λ and p: that of these with p = 2 and p = 4. They
  are chosen on the test rows, separately in every split, so nobody can reach them;
- nested: `M3SVMClassifierCV` on the training rows, five folds, decades from 1e-7 to 1e5 with p = 2 and p = 4;
- LogisticRegression() and LinearSVC() behind StandardScaler(), with all their defaults.

Tables of more than `--rows` rows or `--numbers` numbers are thinned out first, class by class, by the same rows for
everybody; the table says how many are left. Classes with a single row are left out, since no split has them on both
sides. M3SVM_DATA names the folder of the tables. The file may be stopped and gone on with at any time.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from m3svm import M3SVMClassifier, M3SVMClassifierCV
from scipy import sparse
from sklearn import datasets
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("M3SVM_DATA", ROOT / ".." / "shared" / "data"))
BUNDLED = {
    "sklearn-iris": "iris",
    "sklearn-wine": "wine",
    "sklearn-breast-cancer": "breast_cancer",
    "sklearn-digits": "digits",
}
#: From the smallest to the largest, so that much is known early.
FILES = (
    *(
        "iris",
        "wine",
        "glass",
        "dermatology",
        "dermatology-raw",
        "vehicle",
        "segment",
        "cornell",
        "satimage",
        "shuttle",
    ),
    *("covtype15k", "letter", "optdigits", "orl", "usps", "isolet", "hhar-recomputed", "coil20", "news20"),
)
Matrix = np.ndarray | sparse.csr_matrix
LAMS = [float(f"{10 ** (half / 2):.3g}") for half in range(-14, 11)]
DECADES = LAMS[::2]
POWERS = (2.0, 4.0)
PROGRAMS = ("default", "best", "nested", "LogisticRegression", "LinearSVC")


def load(name: str) -> tuple[Matrix, np.ndarray]:
    """Features and labels."""
    if name in BUNDLED:
        return getattr(datasets, f"load_{BUNDLED[name]}")(return_X_y=True)
    text = FOLDER / f"{name}.svm.gz"
    if text.exists():
        x, y = datasets.load_svmlight_file(str(text))
        return sparse.csr_matrix(x), y
    table = np.genfromtxt(FOLDER / f"{name}.csv.gz", delimiter=",", skip_header=1, dtype=str)
    numbers = np.where(table[:, :-1] == "", "nan", table[:, :-1])
    return numbers.astype(float), table[:, -1]


def thinned(x: Matrix, y: np.ndarray, rows: int, numbers: int) -> tuple[Matrix, np.ndarray]:
    """At most so many rows, of every class its share."""
    stored = x.nnz if sparse.issparse(x) else x.size
    most = min(rows, numbers * x.shape[0] // stored)
    _, at, counts = np.unique(y, return_inverse=True, return_counts=True)
    several = np.flatnonzero(counts[at] > 1)
    x, y = x[several], y[several]
    if most >= len(y):
        return x, y
    kept, _ = train_test_split(np.arange(len(y)), train_size=most, stratify=y, random_state=0)
    kept = np.sort(kept)
    _, at, counts = np.unique(y[kept], return_inverse=True, return_counts=True)
    kept = kept[counts[at] > 1]
    return x[kept], y[kept]


def ours(x: Matrix) -> dict[str, Any]:
    """What our estimators are told of a table: gaps are filled by them."""
    gaps = not sparse.issparse(x) and np.isnan(x).any()
    return {"scale": "standard", **({"preparation": {}} if gaps else {})}


def measure(program: str, x: Matrix, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> dict[str, Any]:
    """What one program makes of one split."""
    if program == "default":
        model = M3SVMClassifier(lam="auto", **ours(x)).fit(x[train], y[train])
        choice = model.lambda_choice_
        return {
            "accuracy": float(model.score(x[test], y[test])),
            "lam": model.lam_,
            "fits": choice["fits"],
            "evaluations": choice["evaluations"],
            "of_the_fit": model._model.evaluations,
        }
    if program == "best":
        search = M3SVMClassifierCV(lams=LAMS, ps=POWERS, cv=[(train, test)], **ours(x))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = search.fit(x, y).cv_results_
        return {
            f"p{p:g}": [
                float(score)
                for score, own in sorted(
                    zip(results["mean_test_score"], results["params"], strict=True), key=lambda s: s[1]["lam"]
                )
                if own["p"] == p
            ]
            for p in POWERS
        }
    if program == "nested":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = M3SVMClassifierCV(lams=DECADES, ps=POWERS, cv=5, **ours(x)).fit(x[train], y[train])
        return {"accuracy": float(model.score(x[test], y[test])), **model.best_params_}
    filled = [] if sparse.issparse(x) else [SimpleImputer()]
    scaler = StandardScaler(with_mean=not sparse.issparse(x))
    last = LogisticRegression() if program == "LogisticRegression" else LinearSVC()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(*filled, scaler, last).fit(x[train], y[train])
    return {"accuracy": float(model.score(x[test], y[test]))}


def known(out: Path) -> dict[tuple[str, int, str], dict[str, Any]]:
    """What has been measured, by table, split and program."""
    if not out.exists():
        return {}
    rows = map(json.loads, out.read_text().splitlines())
    return {(row["table"], row["split"], row["program"]): row for row in rows if "table" in row}


def run(given: argparse.Namespace) -> None:
    """Measures what is missing, split by split, so that any prefix of the file is a fair one."""
    done = known(given.out)
    if not done:
        versions = {name: importlib.metadata.version(name) for name in ("m3svm", "scikit-learn", "numpy")}
        commit = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
        ).stdout.strip()
        head = {
            "commit": commit,
            "python": platform.python_version(),
            "rows": given.rows,
            "numbers": given.numbers,
            **versions,
        }
        given.out.write_text(json.dumps(head) + "\n")
    for split in range(given.first, given.splits):
        for name in given.tables or (*BUNDLED, *FILES):
            missing = [program for program in PROGRAMS if (name, split, program) not in done]
            if not missing:
                continue
            x, y = thinned(*load(name), given.rows, given.numbers)
            train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=split)
            for program in missing:
                start = time.process_time()
                found = measure(program, x, y, train, test)
                row = {"table": name, "split": split, "program": program, "n": len(y), "d": x.shape[1], **found}
                row["seconds"] = round(time.process_time() - start, 3)
                with given.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(name, split, program, f"{row['seconds']:.2f} s", file=sys.stderr)


def table(given: argparse.Namespace) -> None:
    """Means over the splits that are complete, table by table."""
    done, head = known(given.out), json.loads(given.out.open().readline())
    print(f"Measured with `python bench/defaults.py`, {json.dumps(head)}.\n")
    print(
        "| Table | Rows | Splits | default | best λ | best λ and p | nested "
        "| LogisticRegression | LinearSVC | λ chosen | fits | cost |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    means: list[list[float]] = []
    for name in (*BUNDLED, *FILES):
        splits = [s for s in range(given.splits) if all((name, s, program) in done for program in PROGRAMS)]
        if not splits:
            continue
        rows = [{program: done[name, s, program] for program in PROGRAMS} for s in splits]

        def mean(values: list[float]) -> float:
            return 100 * sum(values) / len(values)

        numbers = [
            mean([row["default"]["accuracy"] for row in rows]),
            mean([max(row["best"]["p4"]) for row in rows]),
            mean([max(row["best"]["p4"] + row["best"]["p2"]) for row in rows]),
            *(mean([row[program]["accuracy"] for row in rows]) for program in PROGRAMS[2:]),
        ]
        means.append(numbers)
        lams = sorted(row["default"]["lam"] for row in rows)
        cost = sorted(row["default"]["evaluations"] / row["default"]["of_the_fit"] for row in rows)[len(rows) // 2]
        fits = max(row["default"]["fits"] for row in rows)
        shown = " | ".join(f"{number:.2f}" for number in numbers)
        between = f"{lams[0]:g} to {lams[-1]:g}" if lams[0] < lams[-1] else f"{lams[0]:g}"
        print(f"| {name} | {rows[0]['default']['n']} | {len(splits)} | {shown} | {between} | {fits} | {cost:.1f} |")
    overall = np.mean(means, axis=0)
    print(f"| mean of {len(means)} | | | " + " | ".join(f"**{number:.2f}**" for number in overall) + " | | | |\n")
    for label, at in (("the best λ", 1), ("the best λ and p", 2), ("nested tuning", 3)):
        print(f"- Regret against {label}: {overall[at] - overall[0]:.2f} points.")
    for label, at in (("LogisticRegression()", 4), ("LinearSVC()", 5)):
        print(f"- Ahead of {label}: {overall[0] - overall[at]:+.2f} points.")


def main() -> None:
    """Measure, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first split to measure")
    parser.add_argument("--tables", nargs="+", help="only these")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--numbers", type=int, default=1_000_000)
    parser.add_argument("--table", action="store_true", help="print what has been measured")
    given = parser.parse_args()
    (table if given.table else run)(given)


if __name__ == "__main__":
    main()
