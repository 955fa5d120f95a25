"""Probabilities for losses that define none: softmax of scores that are divided by a temperature."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from ._core import Model, fit_temperature
from ._data import TrainingData
from ._folds import folds_of_rows

_FOLDS = 5


def temperature_by_cross_validation(
    data: TrainingData, train: Callable[[TrainingData], Model], n_threads: int | None, seed: int
) -> float:
    """The temperature that fits scores of rows that their models have not seen."""
    folds = folds_of_rows(data, _FOLDS, seed)
    scores = np.empty((len(data.y), len(data.classes)))
    tested = np.flatnonzero(folds >= 0)
    for fold in range(folds.max() + 1):
        outside = np.flatnonzero(folds == fold)
        inside = np.flatnonzero(folds != fold)
        scores[outside] = train(data.rows(inside)).scores(data.rows(outside).x, n_threads)
    weight = None if data.sample_weight is None else data.sample_weight[tested]
    return fit_temperature(scores[tested], data.y[tested], weight)


def probabilities_at(scores: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Probabilities of scores, one row per sample."""
    return np.asarray(softmax(scores / temperature, axis=1))
