"""Estimators whose scores may be linear in the space of a kernel: its settings, and what a fitted one knows of it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._base import LinearClassifier
from ._core import Model
from ._settings import Settings
from ._solution import OfSolution

KernelName = Literal["linear", "rbf", "poly", "polynomial", "laplacian", "cosine", "precomputed"]

# What only a fit with a kernel has.
_OF_KERNELS = ("support_vectors_", "n_support_", "trace_left_")


class KernelClassifier(LinearClassifier):
    """All methods whose penalty knows rows by their inner products alone."""

    _kernel_settings = ("kernel", "gamma", "degree", "coef0", "rank")

    kernel: KernelName = "linear"
    gamma: float | Literal["scale", "auto"] = "scale"
    degree: int = 3
    coef0: float = 0.0
    rank: int | None = None

    dual_coef_ = OfSolution()

    def _settings(self, seed: int | None, classes: NDArray[Any]) -> Settings:
        settings: dict[str, Any] = dict(super()._settings(seed, classes))
        for name in self._kernel_settings:
            settings[name] = getattr(self, name)
        return settings  # type: ignore[return-value]

    def _adopt(self, model: Model, classes: NDArray[Any]) -> None:
        for name in ("dual_coef_", *_OF_KERNELS):
            self.__dict__.pop(name, None)
        super()._adopt(model, classes)
        support, coefficients = model.support, model.dual_coef
        if support is None or coefficients is None:
            return
        one = len(classes) == 2
        OfSolution.keep(self, "dual_coef_", self._as_one(coefficients)[np.newaxis] if one else coefficients)
        self.support_ = support.astype(np.intp)
        self.n_support_ = np.array(model.support_counts, dtype=np.int32)
        self.trace_left_ = model.trace_left
        vectors = model.support_vectors
        if vectors is None:
            vectors = np.empty((0, 0))
        self.support_vectors_ = sparse.csr_matrix(vectors) if model.support_is_sparse else vectors

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
