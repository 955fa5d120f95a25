"""From what users pass to what the extension module takes: checked arrays, class numbers, weights."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array, check_X_y
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import validate_data

from ._columns import Columns, columns_of

# Single and double precision are used as they are; everything else becomes double.
_CHECKS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


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
    """Checks what was passed to ``fit``. Arrays in row or column order, CSR matrices and tables of numbers are not copied."""
    X, y = _checked(estimator, X, y, reset=True)
    check_classification_targets(y)
    classes, numbers = np.unique(y, return_inverse=True)
    weight = None if sample_weight is None else _weights(sample_weight, X.shape[0])
    return TrainingData(X, numbers.astype(np.uint32), classes, weight)


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
    X, y = _checked(estimator, X, y, reset=not hasattr(estimator, "n_features_in_"))
    check_classification_targets(y)
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(f"y has labels that are not among the classes: {np.unique(y[unknown]).tolist()[:5]}")
    weight = None if sample_weight is None else _weights(sample_weight, X.shape[0])
    return TrainingData(X, np.searchsorted(classes, y).astype(np.uint32), classes, weight)


def features(estimator: Any, X: Any) -> Any:
    """Checks what was passed to ``predict`` and its like."""
    columns = columns_of(X)
    if columns is None:
        return _aligned(validate_data(estimator, X, reset=False, **_CHECKS))
    validate_data(estimator, X, reset=False, skip_check_array=True)
    check_array(_shaped_like(columns), ensure_all_finite=False, estimator=estimator, input_name="X")
    return columns


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


def _checked(estimator: Any, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
    """X and y as scikit-learn checks them. Its conversions would copy tables: these are checked for names and size, and their
    values where they are read."""
    columns = columns_of(X)
    if columns is None:
        X, y = validate_data(estimator, X, y, reset=reset, **_CHECKS)
        return _aligned(X), y
    validate_data(estimator, X, y, reset=reset, skip_check_array=True)
    _, y = check_X_y(_shaped_like(columns), y, ensure_all_finite=False, estimator=estimator)
    return columns, y


def _shaped_like(columns: Columns) -> NDArray[np.float64]:
    """An array of that shape which takes no memory."""
    return np.broadcast_to(np.zeros(()), columns.shape)


def _aligned(X: Any) -> Any:
    """X with rows or columns in one piece each; only cut-outs of arrays and arrays in byte buffers need a copy for that."""
    if sparse.issparse(X) or (X.flags.aligned and (X.flags.c_contiguous or X.strides[0] == X.itemsize)):
        return X
    return np.require(X, requirements=["C", "A"])
