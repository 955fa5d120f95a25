"""Estimators for Dask collections: the ones for arrays, with another `fit` and lazy predictions."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

import numpy as np
from distributed import Client, default_client
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from .._base import LinearClassifier, _gives_probabilities
from .._core import Model, fit_parts
from .._data import class_names
from .._hinge import M3SVMClassifier, MSVMClassifier, WestonWatkinsClassifier
from .._logistic import ISM3Classifier, MultinomialLogisticRegression, PairwiseLogisticRegression
from .._parts import merged
from .._progress import ProgressLine, warn_unless_converged
from .._sparse import SparseMultinomialLogisticRegression
from .._top import CrammerSingerClassifier, TopKSVMClassifier
from .._typing import Self
from ._blocks import blocks, describe_block, forget_fit
from ._carrier import DaskCarrier, gathered


class FitsWithDask(LinearClassifier):
    """Trains on dask arrays and data frames, one part of the rows per block, and predicts lazily.

    The optimiser runs in the calling process and asks the workers for sums over their rows. The result is the optimum of the local
    fit, with the same certificate; for the same partitions it has the same bits. A worker that dies costs time and nothing else.

    `lam` is a number: nobody has all rows at hand to choose one by.

    Predictions of Dask collections are lazy; those of arrays and data frames in memory are made at once.
    """

    _local: ClassVar[type[LinearClassifier]]

    client: Any = None

    @property
    def client_(self) -> Client:
        """The client that is used: the one that was given, or the default one."""
        return default_client() if self.client is None else self.client

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on labelled rows in partitions.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Features: numbers. Blocks may be sparse.
        y : dask array or series of shape (n_samples,)
            Labels of at least two classes. Not every partition needs all of them.
        sample_weight : dask array or series of shape (n_samples,), optional
            Weights of at least 0. A whole number means the same as repeating the row that often.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with self._all_or_nothing():
            model = self._train_parts(X, y, sample_weight)
        warn_unless_converged(type(self).__name__, model)
        return self

    def _train_parts(self, X: Any, y: Any, sample_weight: Any) -> Model:
        if self.on_interrupt not in ("raise", "keep"):
            raise ValueError(f'`on_interrupt` must be "raise" or "keep", found {self.on_interrupt!r}')
        if self._estimates_probabilities():
            raise ValueError("probability=True needs all rows in one place; estimators without Dask can do it")
        client, fit = self.client_, uuid.uuid4().hex
        line = ProgressLine(type(self).__name__) if self.verbose else None
        futures = client.compute(blocks(X, y, sample_weight))
        try:
            described = client.map(describe_block, futures, list(range(len(futures))), pure=False)
            all_parts = merged(gathered(None, client, described, None))
            _release(described)
            classes = all_parts.classes
            model = fit_parts(
                DaskCarrier(
                    client,
                    fit,
                    [(number, futures[number]) for number in all_parts.parts],
                    classes.astype(object) if classes.dtype.kind == "U" else classes,
                ),
                all_parts.descriptions,
                class_names(classes),
                all_parts.mass,
                self._settings(self._seed(draw=False), classes),
                feature_names=all_parts.columns,
                start=getattr(self, "_model", None) if self.warm_start else None,
                n_threads=self.n_threads,
                progress=None if line is None else line.step,
                keep_interrupted=self.on_interrupt == "keep",
            )
        finally:
            _forget(client, fit)
            # Now, and not when they are collected: a graph that shares tasks with what is being released may lose them.
            _release(futures)
        if line is not None:
            line.finish(model)
        self.__dict__.pop("_means", None)
        self.__dict__.pop("feature_names_in_", None)
        if all_parts.columns is not None:
            self.feature_names_in_ = np.array(all_parts.columns, dtype=object)
        self._adopt(model, classes)
        return model

    def to_local(self) -> LinearClassifier:
        """The estimator for arrays with the same settings and, after `fit`, the same solution."""
        settings = {name: value for name, value in self.get_params(deep=False).items() if name != "client"}
        local = self._local(**settings)
        state = {name: value for name, value in self.__dict__.items() if name not in settings and name != "client"}
        local.__dict__.update(state)
        return local

    def predict(self, X: Any) -> Any:
        """The class of every row; lazy for Dask collections.

        Parameters
        ----------
        X : dask array or data frame, or whatever estimators for arrays take
            Features.

        Returns
        -------
        labels : dask array or series, or ndarray of shape (n_samples,)
            Elements of ``classes_``.
        """
        return self._lazily("predict", X)

    def decision_function(self, X: Any) -> Any:
        """Scores of the classes; lazy for Dask collections.

        Parameters
        ----------
        X : dask array or data frame, or whatever estimators for arrays take
            Features.

        Returns
        -------
        scores : dask array or ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            With two classes, positive speaks for ``classes_[1]``.
        """
        return self._lazily("decision_function", X)

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes; lazy for Dask collections.

        Parameters
        ----------
        X : dask array or data frame, or whatever estimators for arrays take
            Features.

        Returns
        -------
        probabilities : dask array or ndarray of shape (n_samples, n_classes)
            Every row sums to 1.
        """
        return self._lazily("predict_proba", X)

    def _lazily(self, what: str, X: Any) -> Any:
        local = self.to_local()
        if not hasattr(X, "__dask_graph__"):
            return getattr(local, what)(X)
        if not local.__sklearn_is_fitted__():
            # The error of the estimator for arrays.
            return getattr(local, what)(np.zeros((1, 1)))
        one = what == "predict"
        width = 1 if one or (what == "decision_function" and len(self.classes_) == 2) else len(self.classes_)
        dtype = self.classes_.dtype if one else np.dtype(np.float64)
        if hasattr(X, "chunks"):
            X = X.rechunk({1: -1})
            meta = np.empty((0,) if width == 1 else (0, 0), dtype=dtype)
            if width == 1:
                return X.map_blocks(_predict_block, local, what, drop_axis=1, dtype=dtype, meta=meta)
            return X.map_blocks(_predict_block, local, what, chunks=(X.chunks[0], (width,)), dtype=dtype, meta=meta)
        if one:
            kind = object if dtype.kind == "U" else dtype
            import pandas as pd

            return X.map_partitions(_predict_series, local, meta=pd.Series(np.empty(0, dtype=kind), name="prediction"))
        meta = np.empty((0,) if width == 1 else (0, width), dtype=dtype)
        return X.map_partitions(_predict_block, local, what, meta=meta)

    def __sklearn_clone__(self) -> Self:
        """A copy without what was trained. The client is shared: it is a connection."""
        settings = self.get_params(deep=False)
        client = settings.pop("client")
        return type(self)(client=client, **{name: clone(value, safe=False) for name, value in settings.items()})

    def __getstate__(self) -> dict[str, Any]:
        # A connection does not travel.
        return {**super().__getstate__(), "client": None}


def _predict_block(x: Any, local: LinearClassifier, what: str) -> Any:
    if x.shape[0] == 0:
        n = len(local.classes_)
        if what == "predict":
            return np.empty(0, dtype=local.classes_.dtype)
        return np.empty((0,) if what == "decision_function" and n == 2 else (0, n))
    return getattr(local, what)(x.tocsr() if hasattr(x, "tocsr") else x)


def _predict_series(x: Any, local: LinearClassifier) -> Any:
    import pandas as pd

    labels = _predict_block(x, local, "predict")
    return pd.Series(labels.astype(object) if labels.dtype.kind == "U" else labels, index=x.index, name="prediction")


def _release(futures: list[Any]) -> None:
    for future in futures:
        future.release()


def _forget(client: Client, fit: str) -> None:
    """Frees what workers keep. Those that do not answer forget by themselves."""
    try:
        client.run(forget_fit, fit, wait=False)
    except Exception:  # noqa: BLE001 - the fit is over, and its result or its own error counts
        return


class DaskM3SVMClassifier(FitsWithDask, M3SVMClassifier):
    """:class:`m3svm.M3SVMClassifier` for Dask collections: its parameters with ``lam=0.001``, and `client` (None for the default one)."""

    _local = M3SVMClassifier

    lam: float = 1e-3


class DaskWestonWatkinsClassifier(FitsWithDask, WestonWatkinsClassifier):
    """:class:`m3svm.WestonWatkinsClassifier` for Dask collections: its parameters with ``lam=0.5``, and `client` (None for the default one)."""

    _local = WestonWatkinsClassifier

    lam: float = 0.5


class DaskMSVMClassifier(FitsWithDask, MSVMClassifier):
    """:class:`m3svm.MSVMClassifier` for Dask collections: its parameters with ``lam=0.5``, and `client` (None for the default one)."""

    _local = MSVMClassifier

    lam: float = 0.5


class DaskCrammerSingerClassifier(FitsWithDask, CrammerSingerClassifier):
    """:class:`m3svm.CrammerSingerClassifier` for Dask collections: its parameters with ``lam=0.5``, and `client` (None for the default one)."""

    _local = CrammerSingerClassifier

    lam: float = 0.5


class DaskTopKSVMClassifier(FitsWithDask, TopKSVMClassifier):
    """:class:`m3svm.TopKSVMClassifier` for Dask collections: its parameters with ``lam=0.5``, and `client` (None for the default one)."""

    _local = TopKSVMClassifier

    lam: float = 0.5


class DaskISM3Classifier(FitsWithDask, ISM3Classifier):
    """:class:`m3svm.ISM3Classifier` for Dask collections: its parameters with ``lam=0.001``, and `client` (None for the default one)."""

    _local = ISM3Classifier

    lam: float = 1e-3


class DaskPairwiseLogisticRegression(FitsWithDask, PairwiseLogisticRegression):
    """:class:`m3svm.PairwiseLogisticRegression` for Dask collections: its parameters with ``lam=0.001``, and `client` (None for the default one)."""

    _local = PairwiseLogisticRegression

    lam: float = 1e-3


class DaskMultinomialLogisticRegression(FitsWithDask, MultinomialLogisticRegression):
    """:class:`m3svm.MultinomialLogisticRegression` for Dask collections: its parameters with ``lam=0.5``, and `client` (None for the default one)."""

    _local = MultinomialLogisticRegression

    lam: float = 0.5


class DaskSparseMultinomialLogisticRegression(FitsWithDask, SparseMultinomialLogisticRegression):
    """:class:`m3svm.SparseMultinomialLogisticRegression` for Dask collections: its parameters with ``lam=1``, and `client` (None for the default one)."""

    _local = SparseMultinomialLogisticRegression

    lam: float = 1.0
