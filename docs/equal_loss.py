"""Models with different powers p and the same training loss: what p does, apart from the strength of the penalty.

A larger p at the same lambda is mostly a stronger or weaker penalty. So lambda is sought for every p until the loss on the training rows
is that of a reference. `docs/margins.py` draws such models and `docs/powers.py` tabulates them.
"""

from __future__ import annotations

import json
import math
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
# Losses that agree to this share are the same.
SAME = 1e-6


@dataclass
class Fit:
    """One run of `m3svm train`: its JSON answer, tensors and metadata of the model, and the loss on the training rows."""

    answer: dict
    tensors: dict
    about: dict
    loss: float
    longest: float


def read_model(path: Path) -> tuple[dict, dict]:
    """Tensors and metadata of a model file (safetensors: length, JSON header, numbers)."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    about = json.loads(header.pop("__metadata__")["m3svm"])
    tensors = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        values = np.frombuffer(raw[8 + length + start : 8 + length + end], dtype="<f8")
        tensors[name] = values.reshape(entry["shape"])
    return tensors, about


def train(binary: str, data: Path, p: float, lam: float, options: tuple[str, ...] = ()) -> Fit:
    """One fit. The loss is the objective without penalty and epsilon terms, both taken from the weights."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.m3svm"
        command = [binary, "train", str(data), "--p", repr(p), "--lambda", repr(lam), "--json", "-o", str(model), *options]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        tensors, about = read_model(model)
    w, b = tensors["weights"], tensors["intercept"]
    k, l = np.triu_indices(w.shape[1], 1)
    lengths = np.linalg.norm(w[:, k] - w[:, l], axis=0)
    penalty = lam * np.sum(lengths**p) + answer["epsilon"] * (np.sum(w**2) + np.sum(b**2))
    return Fit(answer, tensors, about, answer["objective"] - penalty, float(lengths.max()))


def at_loss(binary: str, data: Path, p: float, reference: Fit, lam: float, options: tuple[str, ...] = ()) -> Fit:
    """The fit with power p whose training loss is that of `reference`, a fit with p = 2 and lambda `lam`: bisection over log lambda."""
    # Where the longest difference pays the same, lambda is of the right size.
    middle = math.log(lam) + (2 - p) * math.log(reference.longest)
    low, high = middle - 1, middle + 1
    while train(binary, data, p, math.exp(low), options).loss > reference.loss:
        low -= 2
    while train(binary, data, p, math.exp(high), options).loss < reference.loss:
        high += 2
    while True:
        middle = (low + high) / 2
        found = train(binary, data, p, math.exp(middle), options)
        if abs(found.loss / reference.loss - 1) < SAME or high - low < 1e-12:
            return found
        low, high = (middle, high) if found.loss < reference.loss else (low, middle)
