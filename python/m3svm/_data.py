"""From what users pass to what the extension module takes: checked arrays, class numbers, weights."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import validate_data

# Single and double precision are used as they are; everything else becomes double.
_CHECKS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}


class TrainingData(NamedTuple):
    """Rows with their class numbers; ``classes[y[i]]`` is the label of row i."""

    x: Any
    y: NDArray[np.uint32]
    classes: NDArray[Any]
    sample_weight: NDArray[np.float64] | None

    def rows(self, chosen: NDArray[np.intp]) -> TrainingData:
        """A copy of some of the rows. All classes stay known."""
        weight = None if self.sample_weight is None else self.sample_weight[chosen]
        return TrainingData(self.x[chosen], self.y[chosen], self.classes, weight)


def training_data(estimator: Any, X: Any, y: Any, sample_weight: Any) -> TrainingData:
    """Checks what was passed to ``fit``. C-contiguous arrays and CSR matrices are not copied."""
    X, y = validate_data(estimator, X, y, **_CHECKS)
    check_classification_targets(y)
    classes, numbers = np.unique(y, return_inverse=True)
    weight = None if sample_weight is None else _weights(sample_weight, X.shape[0])
    return TrainingData(_aligned(X), numbers.astype(np.uint32), classes, weight)


def known_classes(estimator: Any, classes: Any) -> NDArray[Any]:
    """All classes that batches may contain: named in the first call, or those of the fit before."""
    before: NDArray[Any] | None = getattr(estimator, "classes_", None)
    if classes is None:
        if before is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return before
    named = unique_labels(classes)
    if before is not None and not np.array_equal(before, named):
        raise ValueError(f"classes must be those of the first call, {before.tolist()}, found {named.tolist()}")
    return np.asarray(named)


def batch_data(estimator: Any, X: Any, y: Any, sample_weight: Any, classes: NDArray[Any]) -> TrainingData:
    """Checks what was passed to ``partial_fit``: as ``training_data``, for classes that are known already."""
    X, y = validate_data(estimator, X, y, reset=not hasattr(estimator, "n_features_in_"), **_CHECKS)
    check_classification_targets(y)
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(f"y has labels that are not among the classes: {np.unique(y[unknown]).tolist()[:5]}")
    weight = None if sample_weight is None else _weights(sample_weight, X.shape[0])
    return TrainingData(_aligned(X), np.searchsorted(classes, y).astype(np.uint32), classes, weight)


def features(estimator: Any, X: Any) -> Any:
    """Checks what was passed to ``predict`` and its like."""
    return _aligned(validate_data(estimator, X, reset=False, **_CHECKS))


def class_names(classes: NDArray[Any]) -> list[str]:
    """Labels as the texts that model files store; whole numbers have no decimal point."""
    return [_class_name(label) for label in classes.tolist()]


def classes_from_names(names: list[str]) -> NDArray[Any]:
    """Labels of a model file: numbers if all of them are numbers, else texts."""
    for number in (int, float):
        try:
            labels = np.array([number(name) for name in names])
        except (ValueError, OverflowError):
            continue
        # Text such as "01" would come back as another label.
        if labels.dtype.kind in "if" and class_names(labels) == names:
            return labels
    return np.array(names)


def _class_name(label: Any) -> str:
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def _weights(sample_weight: Any, rows: int) -> NDArray[np.float64]:
    if isinstance(sample_weight, Real):
        return np.full(rows, float(sample_weight))
    weight = check_array(
        sample_weight, ensure_2d=False, allow_nd=True, dtype=np.float64, order="C", input_name="sample_weight"
    )
    if weight.shape != (rows,):
        raise ValueError(f"sample_weight must have the shape ({rows},), found {weight.shape}")
    return np.require(weight, requirements=["C", "A"])


def _aligned(X: Any) -> Any:
    """X in aligned memory; only arrays that were cut out of byte buffers are not."""
    return X if sparse.issparse(X) else np.require(X, requirements=["C", "A"])
