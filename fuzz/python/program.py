"""Throws random tables and settings of any size at the program, and checks what it claims.

    python fuzz/python/program.py target/debug/m3svm --runs 1000 --seed 1

A run ends with exit code 0, or with 1, one sentence and nothing else: no output, no model. What is said to be optimal is finite, has
a bound that is not above it, and has converged if and only if the gap is within the tolerance. A model does as well on its training
rows as its training says, but for rows whose classes are a tie. What breaks that is kept in a folder whose name is printed. It
needs Python and nothing else.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

# What is typed for settings, most of which make sense.
USUAL = {
    "method": "m3svm ism3 pairwise-lr ovr ovo ww cs msvm topk lr smlr",
    "kernel": "linear rbf polynomial laplacian cosine precomputed",
    "penalty": "l2 l1 pairwise-ridge ridge lasso elastic-net none",
    "solver": "auto newton lbfgs adam proximal dual",
    "scale": "standard maxabs minmax none",
    "class-weight": "balanced balanced c0=2 c0=0 c0=1e300 c0=nan c9=1",
    "lambda": "0 1e-6 0.001 0.1 1 100 auto",
    "p": "1 1.5 2 4 8 inf",
    "delta": "0 0.01 1",
    "epsilon": "1e-6 1e-3",
    "tol": "1e-3 1e-8 1e-12",
    "max-iter": "0 1 5 100",
    "gamma": "0.1 1 10 scale auto",
    "degree": "1 2 3",
    "coef0": "0 1",
    "rank": "1 2 5 20",
    "k": "1 2 3",
    "l1-ratio": "0 0.5 1",
    "folds": "2 3",
    "validation": "none none none auto 2 5 0.3",
}
# What is typed for numbers, most of which make none.
STRANGE = (
    "0 -0 1 -1 0.5 5e-324 1e-320 1e-300 1e-100 1e-17 1e-8 1e-3 2 10 1e3 1e17 1e30 1e100 1e300 1.7976931348623157e308 1e309 1e-9999 "
    "nan inf -inf 4294967296 9223372036854775808 18446744073709551616 99999999999 0x10 1,2 1:2 1e-3:1:3 auto scale 1_000"
)
# How the values of a table are drawn.
KINDS = "plain plain plain whole constant equal collinear tiny huge wide mixed zero sparse denormal far"
WEIGHTS = [None, None, None, "random", "zero", "large", "small", "negative", "nan"]
# Processor time that a run may take.
MOST_SECONDS = 60
# Scores that differ by less, relative to the largest, are equal.
TIE = 1e-6


class Broken(Exception):
    """A promise that was not kept."""


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise Broken(what)


class Program:
    """The program in a folder of its own."""

    def __init__(self, path: Path, folder: Path):
        self.path, self.folder = path, folder
        self.said: list[str] = []

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error, which are as they must be whatever came out."""

        def limits() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        self.said.append(" ".join(arguments))
        done = subprocess.run(
            [self.path, *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            preexec_fn=limits,
            check=False,
        )
        code, out, err = done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode()
        expect(code in (0, 1, 2), f"it ended with {code}: {err[:1000]}")
        if code == 1:
            errors = [line for line in err.splitlines() if line.startswith("error: ")]
            expect(len(errors) == 1, f"not one sentence: {err!r}")
            expect(out == "", f"an output beside an error: {out[:200]!r}")
        return code, out, err


def table(draw: random.Random, path: Path) -> bool:
    """Writes a table; says whether it has a column of weights."""
    rows, columns = draw.choice([1, 2, 3, 5, *[8, 12, 20, 40, 60] * 3]), draw.choice([1, 1, 2, 3, 5, 8, 20, 70])
    classes = draw.choice([1, *[2, 2, 3, 3, 4, 6] * 3, min(rows, 25)])
    kind, weights = draw.choice(KINDS.split()), draw.choice(WEIGHTS)

    def value() -> float:
        normal = draw.gauss(0, 1)
        sizes: dict[str, float] = {
            "whole": draw.randint(-2, 2),
            "constant": 3.25,
            "tiny": normal * 1e-200,
            "huge": normal * 1e200,
            "wide": normal * 10 ** draw.uniform(100, 160),
            "mixed": normal * 10 ** draw.uniform(-300, 300),
            "zero": 0.0,
            "sparse": draw.choice([0, 0, 0, 0, 1]),
            "denormal": draw.randint(-3, 3) * 5e-324,
            "far": 1e15 + draw.randint(0, 3),
        }
        return sizes.get(kind, normal)

    x = [[value() for _ in range(columns)] for _ in range(rows)]
    y = [draw.randrange(classes) for _ in range(rows)] if draw.random() < 0.3 else [i % classes for i in range(rows)]
    if kind == "equal":
        x = [x[draw.randrange(max(1, rows // 4))] for _ in range(rows)]
    if kind == "collinear":
        x = [[row[0] * (j + 1) for j in range(columns)] for row in x]
    if kind == "plain" and draw.random() < 0.5:
        x = [[row[0] + 3 * k, *row[1:]] for row, k in zip(x, y, strict=True)]

    def weight() -> str:
        sizes: dict[str, float] = {
            "random": draw.random(),
            "zero": draw.choice([0, 0, 1]),
            "large": 10 ** draw.uniform(100, 300),
            "small": 10 ** draw.uniform(-300, -100),
            "negative": draw.choice([1, -1]),
            "nan": draw.choice([1, 1, math.nan]),
        }
        return str(sizes[weights or "zero"])

    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"f{j}" for j in range(columns)), *(["w"] if weights else []), "label"])
        for row, k in zip(x, y, strict=True):
            writer.writerow([*map(repr, row), *([weight()] if weights else []), f"c{k}"])
    return weights is not None


def usual(draw: random.Random, name: str) -> str:
    return draw.choice(USUAL[name].split())


def typed(draw: random.Random, name: str) -> str:
    """An option with a number, as usual in nine cases of ten."""
    return f"--{name}={usual(draw, name) if draw.random() < 0.9 else draw.choice(STRANGE.split())}"


def settings(draw: random.Random) -> list[str]:
    """Options of a model, most of which go together."""
    method, options = usual(draw, "method"), []
    if draw.random() < 0.8:
        options += ["--method", method]
    if draw.random() < 0.3:
        kernel = usual(draw, "kernel")
        own = {"rbf": ["gamma"], "laplacian": ["gamma"], "polynomial": ["gamma", "degree", "coef0"]}
        options += ["--kernel", kernel]
        options += [typed(draw, name) for name in [*own.get(kernel, []), "rank"] if draw.random() < 0.3]
    of_pairs = method in ("m3svm", "ism3", "pairwise-lr") or "--method" not in options
    if of_pairs and draw.random() < 0.15:
        options += ["--hard-margin"]
    elif draw.random() < 0.6:
        options += [typed(draw, "lambda")]
    # Now and then options that do not belong to the method.
    shares = {"p": 0.5 if of_pairs else 0.03, "delta": 0.1, "epsilon": 0.2, "tol": 0.25, "max-iter": 0.1}
    options += [typed(draw, name) for name, share in shares.items() if draw.random() < share]
    if draw.random() < 0.15:
        penalty = usual(draw, "penalty")
        options += ["--penalty", penalty, *([typed(draw, "l1-ratio")] if penalty == "elastic-net" else [])]
    if method == "topk" and "--method" in options:
        options += [typed(draw, "k")]
    if draw.random() < 0.2:
        options += ["--no-intercept"]
    for name, share in {"scale": 0.5, "class-weight": 0.15, "solver": 0.15}.items():
        options += [f"--{name}", usual(draw, name)] if draw.random() < share else []
    return options


def tolerance(options: list[str]) -> float:
    return next((float(option.removeprefix("--tol=")) for option in options if option.startswith("--tol=")), 1e-8)


def certified(said: dict[str, Any], tol: float) -> None:
    objective, bound, gap = said["objective"], said["lower_bound"], said["relative_gap"]
    expect(objective is not None and math.isfinite(objective) and objective >= 0, f"the objective is {objective}")
    if bound is not None:
        expect(0 <= bound <= objective, f"the bound {bound} of {objective}")
        expect((said["stop"] == "converged") == (gap <= tol), f"{said['stop']} at a gap of {gap}, not {tol}")


def undecided(predicted: str, weights: list[float]) -> float:
    """The share of rows whose classes are a tie."""
    open_weight = 0.0
    for row, weight in zip(list(csv.reader(predicted.splitlines()))[1:], weights, strict=True):
        scores = sorted(map(float, row[1:]), reverse=True)
        expect(all(map(math.isfinite, scores)), f"scores {row[1:]}")
        open_weight += weight if scores[0] - scores[1] <= TIE * max(map(abs, scores)) else 0.0
    return open_weight / sum(weights)


def train(program: Program, draw: random.Random, common: list[str], weighted: bool) -> int:
    options = settings(draw)
    held = typed(draw, "validation")
    report = ["--report", "r.html"] if draw.random() < 0.2 else []
    code, out, _ = program.run("train", *common, *options, held, *report, "--json", "-o", "m")
    model = program.folder / "m"
    expect(model.exists() == (code == 0), "a model without a training, or a training without a model")
    if code != 0:
        return code
    said = json.loads(out)
    certified(said, tolerance(options))
    code, out, _ = program.run("evaluate", "m", *common[:3] if weighted else common[:1], "--json")
    if code == 0:
        seen, claimed = json.loads(out)["accuracy"], said["train_accuracy"]
        code, out, _ = program.run("predict", "m", "d.csv", "--scores")
        with (program.folder / "d.csv").open(newline="") as file:
            weights = [float(row["w"]) if weighted else 1.0 for row in csv.DictReader(file)]
        near = undecided(out, weights) + 1e-9
        expect(abs(seen - claimed) <= near, f"an accuracy of {claimed} in the training is {seen} on the same rows")
    program.run("inspect", "m", "--json")
    program.run("export", "m", "--format", draw.choice(["onnx", "c", "json", "liblinear"]))
    return 0


def one_round(program: Program, draw: random.Random) -> str:
    """One table and what is done with it, in a word."""
    has_weights = table(draw, program.folder / "d.csv")
    weighted = has_weights and draw.random() < 0.8
    common = [
        "d.csv",
        *(["--weight-column", "w"] if weighted else []),
        "--memory",
        draw.choice(["1GB"] * 20 + ["1", "30000"]),
    ]
    command = draw.choice(["train"] * 8 + ["tune", "compare", "separable", "describe"])
    if command == "train":
        return f"train {train(program, draw, common, weighted)}"
    search = [typed(draw, "folds"), "--repeats=1"]
    if command == "tune":
        options = [option for option in settings(draw) if not option.startswith(("--lambda", "--p="))]
        arguments = [*options, *search, f"--lambda={draw.choice(['0.1,1', '0,1', '1e-300,1e300', 'nan'])}", "--json"]
    elif command == "compare":
        arguments = ["--methods", ",".join(draw.sample(USUAL["method"].split(), 2)), *search, "--json"]
    else:
        arguments = ["--json"]
    code, out, _ = program.run(command, *common, *arguments)
    expect(code != 0 or not any(word in out for word in ("NaN", "Infinity")), "numbers that are none")
    return f"{command} {code}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Throw random tables and settings at the program.")
    parser.add_argument("program", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    counts, broken = Counter[str](), 0
    for number in range(arguments.runs):
        folder = Path(tempfile.mkdtemp(prefix="m3svm-program-"))
        program = Program(arguments.program.resolve(), folder)
        try:
            counts[one_round(program, random.Random(f"{arguments.seed} {number}"))] += 1
        except Broken as what:
            broken += 1
            print(f"run {number}: {what}\n  in {folder}: m3svm {program.said[-1]}", flush=True)
        else:
            shutil.rmtree(folder)
    ended = ", ".join(f"{what}: {count}" for what, count in sorted(counts.items()))
    print(f"{arguments.runs} runs with seed {arguments.seed}, {broken} broken ({ended})")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
