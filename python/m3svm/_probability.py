"""Probabilities for losses that define none: softmax of scores that are divided by a temperature."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.model_selection import StratifiedKFold

from ._core import Model, fit_temperature
from ._data import TrainingData

_FOLDS = 5


def temperature_by_cross_validation(
    data: TrainingData, train: Callable[[TrainingData], Model], n_threads: int | None, seed: int
) -> float:
    """The temperature that fits scores of rows that their models have not seen."""
    smallest = int(np.bincount(data.y).min())
    if smallest < 2:
        label = data.classes[np.bincount(data.y).argmin()]
        raise ValueError(f"probability=True needs at least two rows of every class, class {label} has one")
    folds = StratifiedKFold(min(_FOLDS, smallest), shuffle=True, random_state=seed)
    scores = np.empty((len(data.y), len(data.classes)))
    for inside, outside in folds.split(scores, data.y):
        scores[outside] = train(data.rows(inside)).scores(data.rows(outside).x, n_threads)
    return fit_temperature(scores, data.y, data.sample_weight)


def probabilities_at(scores: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Probabilities of scores, one row per sample."""
    return np.asarray(softmax(scores / temperature, axis=1))
