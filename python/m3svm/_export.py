"""Trained models for programs that do not know m3svm: ONNX, C, JSON, LIBLINEAR."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ._core import Model


class Exports:
    """What every fitted estimator can be turned into. Scaling is folded into the weights everywhere."""

    _model: Model
    classes_: NDArray[Any]

    def to_onnx(self, *, dtype: DTypeLike = np.float32) -> bytes:
        """The model as an ONNX graph of standard operators.

        It takes ``X`` of shape (n, n_features) and gives ``label`` (integers if the classes are, else texts),
        ``scores`` with one column per class (also with two classes) and, where `predict_proba` works,
        ``probabilities``. Sums are taken in double precision whatever `dtype` is, so labels are those of `predict`.

        Parameters
        ----------
        dtype : {float32, float64}, default=float32
            The type of features, scores and probabilities.

        Returns
        -------
        model : bytes
            For ``onnxruntime.InferenceSession``, ``onnx.load_from_string``, or a file.

        Examples
        --------
        >>> from m3svm import M3SVMClassifier
        >>> graph = M3SVMClassifier().fit([[0.0], [1.0], [3.0]], ["low", "low", "high"]).to_onnx()
        >>> import onnxruntime  # doctest: +SKIP
        >>> session = onnxruntime.InferenceSession(graph)  # doctest: +SKIP
        >>> session.run(["label"], {"X": np.array([[0.5]], dtype=np.float32)})  # doctest: +SKIP
        [array(['low'], dtype=object)]
        """
        single = np.dtype(dtype) == np.float32
        if not single and np.dtype(dtype) != np.float64:
            raise ValueError(f"dtype must be float32 or float64, found {np.dtype(dtype)}")
        # Texts stay texts, even if they look like numbers.
        text = np.asarray(self._fitted().classes_).dtype.kind not in "iuf"
        return self._model.export("onnx", single=single, text_labels=text, temperature=self._own_temperature())

    def to_c(self, *, name: str = "m3svm") -> str:
        """The model as one C99 source without dependencies, which allocates nothing.

        A comment at its top says how to compile and call it.

        Parameters
        ----------
        name : str, default="m3svm"
            What all names in the source begin with.

        Returns
        -------
        source : str

        Examples
        --------
        >>> from m3svm import M3SVMClassifier
        >>> source = M3SVMClassifier().fit([[0.0], [1.0], [3.0]], [0, 0, 1]).to_c(name="toy")
        >>> "int toy_predict(const double *x)" in source
        True
        """
        return self._fitted()._model.export("c", name=name, temperature=self._own_temperature()).decode()

    def to_json(self) -> str:
        """The model as JSON: weights, and how to use them.

        Its fields are ``format``, ``version``, ``method``, ``scheme``, ``classes``, ``feature_names``, ``weights`` (one
        row per scorer), ``intercept``, ``pairs`` (of classes, for one-vs-one) and ``temperature`` (of the softmax that
        gives probabilities).

        Returns
        -------
        text : str

        Examples
        --------
        >>> import json
        >>> from m3svm import M3SVMClassifier
        >>> model = json.loads(M3SVMClassifier().fit([[0.0], [1.0], [3.0]], ["low", "low", "high"]).to_json())
        >>> model["classes"]
        ['high', 'low']
        """
        return self._fitted()._model.export("json", temperature=self._own_temperature()).decode()

    def to_liblinear(self) -> str:
        """The model as a model file of LIBLINEAR, for its ``predict``.

        The classes have to be whole numbers. One-vs-one has no such file, because LIBLINEAR knows no votes; and
        probabilities do not go along.

        Returns
        -------
        text : str

        Examples
        --------
        >>> from m3svm import M3SVMClassifier
        >>> M3SVMClassifier().fit([[0.0], [1.0], [3.0]], [1, 1, 2]).to_liblinear().splitlines()[2]
        'label 1 2'
        """
        return self._fitted()._model.export("liblinear").decode()

    def _fitted(self) -> Exports:
        check_is_fitted(self)
        return self

    def _own_temperature(self) -> float | None:
        """The temperature behind estimated probabilities, if there are any."""
        return getattr(self, "temperature_", None)
