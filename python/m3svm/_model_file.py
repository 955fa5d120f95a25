"""Model files of the library as estimators."""

from __future__ import annotations

import inspect
from os import PathLike
from typing import Any

import numpy as np

from . import _decomposed, _hinge, _logistic, _sparse, _top
from ._base import LinearClassifier
from ._core import Model
from ._data import classes_from_names

ESTIMATORS: tuple[type[LinearClassifier], ...] = (
    _hinge.M3SVMClassifier,
    _hinge.WestonWatkinsClassifier,
    _hinge.MSVMClassifier,
    _top.CrammerSingerClassifier,
    _top.TopKSVMClassifier,
    _decomposed.OneVsRestSVMClassifier,
    _decomposed.OneVsOneSVMClassifier,
    _logistic.ISM3Classifier,
    _logistic.PairwiseLogisticRegression,
    _logistic.MultinomialLogisticRegression,
    _sparse.SparseMultinomialLogisticRegression,
)


def load(path: str | PathLike[str]) -> LinearClassifier:
    """Read a model file, written by an estimator or by the command line.

    Parameters
    ----------
    path : str or path
        The model file.

    Returns
    -------
    estimator : object
        A fitted estimator of the class that trains such models, with the settings of the training. Classes are what they
        were. Files of the command line do not say: there, classes that are all numbers become numbers, others texts.

    Examples
    --------
    >>> import os, tempfile
    >>> import m3svm
    >>> model = m3svm.M3SVMClassifier(lam=0.1).fit([[0.0], [1.0], [3.0]], ["low", "low", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "my.m3svm"))
    ...     m3svm.load(os.path.join(folder, "my.m3svm")).predict([[0.5]]).tolist()
    ['low']
    """
    model = Model.load(path)
    settings: dict[str, Any] = dict(model.settings)
    classes = classes_from_names(model.classes, model.labels)
    estimator_class = next(e for e in ESTIMATORS if e._method == settings["method"])
    settings["random_state"] = settings.pop("seed")
    if settings["scale"] == ("none" if model.column_names is None else "standard"):
        # What an estimator does that is told nothing.
        settings["scale"] = "auto"
    if isinstance(settings["class_weight"], dict):
        labels = dict(zip(model.classes, classes.tolist(), strict=True))
        settings["class_weight"] = {labels[name]: weight for name, weight in settings["class_weight"].items()}
    if model.temperature is not None:
        settings["probability"] = True
    known = inspect.signature(estimator_class.__init__).parameters
    estimator = estimator_class(**{name: value for name, value in settings.items() if name in known})
    estimator._adopt(model, classes)
    if model.temperature is not None:
        estimator.temperature_ = model.temperature
    columns = model.feature_names if model.column_names is None else model.column_names
    if columns is not None and None not in columns:
        estimator.feature_names_in_ = np.array(columns, dtype=object)
    return estimator
