"""Estimators that learn batch by batch."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from ._base import LinearClassifier
from ._core import fit_batch
from ._data import batch_data, class_names, known_classes
from ._progress import print_batch
from ._typing import Self


def _has_linear_scores(estimator: LinearClassifier) -> bool:
    if getattr(estimator, "kernel", "linear") == "linear":
        return True
    raise AttributeError(
        "partial_fit is for linear scores: a kernel compares all rows with each other, and batches lack most of them"
    )


class LearnsInBatches(LinearClassifier):
    """One joint problem whose penalty has a gradient.

    The decompositions solve many problems, which a batch may lack rows for, and the lasso needs a solver that finds zeros.
    """

    @available_if(_has_linear_scores)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one batch: Adam goes over its rows once, in steps of up to 16 rows.

        Goes on from the last batch, or from `fit`. There is no certificate: `dual_gap_` is NaN, `objective_` that of the
        last batch, `n_iter_` counts steps, and `support_` and estimated probabilities (``probability=True``) need `fit`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Features of the batch.
        y : array-like of shape (n_samples,)
            Its labels. Not all classes have to occur.
        classes : array-like of shape (n_classes,), optional
            All classes that will ever occur; needed in the first call unless there was a `fit`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of at least 0, not all 0.

        Returns
        -------
        self : object
            The estimator, fitted so far.

        Notes
        -----
        Every batch is treated as if it were all the data: `lam` is weighed against the sum of its losses. For the balance
        that `fit` has with N rows, batches of n rows need ``lam * n / N``.

        With `scale`, the scaling of the first batch (or of `fit`) stays. A scaler of your own, or features of similar size,
        are better. ``class_weight="balanced"`` is refused: the balance of a batch is not that of all data. Weights as a dict
        work; ``sklearn.utils.class_weight.compute_class_weight`` gives those of a large sample.

        Ctrl-C raises KeyboardInterrupt and leaves the estimator as it was before the batch.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from m3svm import M3SVMClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> order = np.random.RandomState(0).permutation(150)
        >>> model = M3SVMClassifier(lam=1e-4, random_state=0)
        >>> for _ in range(100):
        ...     for batch in np.split(order, 3):
        ...         _ = model.partial_fit(X[batch], y[batch], classes=[0, 1, 2])
        >>> bool(model.score(X, y) > 0.95)
        True
        """
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" cannot be used with partial_fit, because the balance of a batch is not that of all data; '
                'pass the weights as a dict, which compute_class_weight("balanced", classes=classes, y=y) of '
                "sklearn.utils.class_weight gives for all labels, or for a large sample of them"
            )
        with self._all_or_nothing():
            known = known_classes(self, classes)
            data = batch_data(self, X, y, sample_weight, known)
            model, moments = fit_batch(
                data.x,
                data.y,
                class_names(known),
                self._tuned(data, self._settings(self._seed(draw=True), known)),
                before=getattr(self, "_model", None),
                moments=getattr(self, "_moments", None),
                sample_weight=data.sample_weight,
                feature_names=self._feature_names(),
                n_threads=self.n_threads,
            )
            self._adopt(model, known)
            self._moments = moments
        if self.verbose:
            print_batch(type(self).__name__, model)
        return self
