"""From what users pass to what the extension module takes: checked arrays, class numbers, weights."""

from __future__ import annotations

import sys
import warnings
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array, check_X_y
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import validate_data

from ._columns import Columns, Gaps, are_numbers, columns_of, is_wide
from ._core import Frame, Model, PreparedFrame
from ._frames import as_arrow_table, chosen, column_names, frame_of, is_frame, speaks_arrow
from ._parts import numbers as as_numbers
from ._settings import Preparation

# Single and double precision are used as they are; everything else becomes double.
_CHECKS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


class TrainingData(NamedTuple):
    """Rows with their class numbers; ``classes[y[i]]`` is the label of row i."""

    x: Any
    y: NDArray[np.uint32]
    classes: NDArray[Any]
    sample_weight: NDArray[np.float64] | None

    def rows(self, chosen: NDArray[np.integer[Any]]) -> TrainingData:
        """A copy of some of the rows. All classes stay known."""
        weight = None if self.sample_weight is None else self.sample_weight[chosen]
        rows = np.ascontiguousarray(chosen, dtype=np.int64) if isinstance(self.x, Frame) else chosen
        return TrainingData(self.x[rows], self.y[chosen], self.classes, weight)


def training_data(estimator: Any, X: Any, y: Any, sample_weight: Any) -> TrainingData:
    """Checks what was passed to ``fit``. Arrays in row or column order, CSR matrices and tables of numbers are not copied."""
    X, y = collected(X), collected(y)
    frame = _to_prepare(estimator, X)
    X, y = _checked(estimator, X, y, reset=True) if frame is None else _checked_frame(estimator, X, frame, y)
    sample_weight = collected(sample_weight)
    check_classification_targets(y)
    classes, numbers = np.unique(y, return_inverse=True)
    weight = None if sample_weight is None else _weights(sample_weight, X.shape[0])
    if frame is not None:
        X = _of_features(estimator, frame, weight)
    return TrainingData(X, numbers.astype(np.uint32), classes, weight)


def _to_prepare(estimator: Any, X: Any) -> Frame | None:
    """X as a frame if its columns are to be prepared: if it was asked for, or if a data frame is not all numbers without gaps."""
    asked = estimator.preparation
    estimator.__dict__.pop("_means", None)
    if asked is None or sparse.issparse(X):
        return None
    if isinstance(asked, dict):
        return frame_of(X)
    if asked != "auto":
        raise ValueError(f'`preparation` must be "auto", None or a dict, found {asked!r}')
    if not is_frame(X):
        return None
    if not are_numbers(X):
        return frame_of(X)
    try:
        columns = columns_of(X)
    except Gaps:
        return frame_of(X)
    if columns is None and is_wide(X):
        return frame_of(X) if np.isnan(np.asarray(X.to_numpy(), dtype=np.float64)).any() else None
    if columns is None:
        return None
    means = columns.means()
    if np.isnan(means).any():
        return frame_of(X)
    # New rows may have gaps.
    estimator._means = means
    return None


def _of_features(estimator: Any, frame: Frame, weight: NDArray[np.float64] | None) -> Frame:
    """The columns of a frame that are features; says which are not."""
    asked: Preparation = {} if estimator.preparation == "auto" else estimator.preparation
    frame, left_out = frame.for_training(asked, weight)
    warn_of_left_out(left_out, frames=6)
    return frame


def warn_of_left_out(left_out: list[tuple[str, str]], frames: int) -> None:
    """Says which columns are no features, and why, to whom is so many calls above."""
    if left_out:
        each = ", ".join(f"`{column}` ({reason})" for column, reason in left_out)
        warnings.warn(
            f"left out: {each}; preparation={{'keep': [...]}} uses a column all the same",
            UserWarning,
            stacklevel=frames + 1,
        )


def to_push(estimator: Any, X: Any, first: bool) -> tuple[Any, Any]:
    """A batch as the library takes it, and how its columns are to be prepared: None if only those that are no numbers without gaps."""
    asked = estimator.preparation
    if asked is not None and asked != "auto" and not isinstance(asked, dict):
        raise ValueError(f'`preparation` must be "auto", None or a dict, found {asked!r}')
    if first:
        validate_data(estimator, X, reset=True, skip_check_array=True)
    if isinstance(asked, dict) and not sparse.issparse(X):
        return frame_of(X), asked
    if asked == "auto" and is_frame(X):
        return frame_of(X), None
    return as_numbers(X), None


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
    X = collected(X)
    before = getattr(estimator, "_model", None)
    if (before is not None and before.column_names is not None) or (is_frame(X) and not are_numbers(X)):
        raise ValueError(
            "partial_fit takes numbers: what columns of texts, times and gaps become is learnt by fit, from all rows"
        )
    estimator.__dict__.pop("_means", None)
    X, y = _checked(estimator, X, collected(y), reset=not hasattr(estimator, "n_features_in_"))
    sample_weight = collected(sample_weight)
    check_classification_targets(y)
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(f"y has labels that are not among the classes: {np.unique(y[unknown]).tolist()[:5]}")
    weight = None if sample_weight is None else _weights(sample_weight, X.shape[0])
    return TrainingData(X, np.searchsorted(classes, y).astype(np.uint32), classes, weight)


def features(estimator: Any, X: Any) -> Any:
    """Checks what was passed to ``predict`` and its like."""
    if isinstance(X, Frame):
        # Rows of a fold, which were looked at before.
        return X
    X = collected(X)
    needed = estimator._model.column_names
    if needed is not None:
        return _prepared(estimator, X, needed)
    means = getattr(estimator, "_means", None)
    try:
        columns = columns_of(X)
    except Gaps:
        if means is None:
            raise
        return _filled(estimator, X, means)
    if columns is not None and means is not None and columns.shape[1] == len(means) and np.isnan(columns.means()).any():
        return _filled(estimator, X, means)
    if columns is None:
        return _aligned(validate_data(estimator, X, reset=False, **_CHECKS))
    validate_data(estimator, X, reset=False, skip_check_array=True)
    check_array(_shaped_like(columns), ensure_all_finite=False, estimator=estimator, input_name="X")
    return columns


def _prepared(estimator: Any, X: Any, needed: list[str | None]) -> PreparedFrame:
    """Rows as the features of a model that was trained on columns of every kind."""
    if sparse.issparse(X):
        raise TypeError(
            f"{type(estimator).__name__} was fitted on columns of every kind, and a sparse matrix has numbers"
        )
    names = column_names(X) if is_frame(X) else None
    known = getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None:
        return _told(estimator, frame_of(chosen(X, _by_name(estimator, names, needed))))
    validate_data(estimator, X if is_frame(X) else np.asarray(X), reset=False, skip_check_array=True)
    frame = frame_of(X)
    if known is not None:
        places = {name: f"column {j + 1}" for j, name in enumerate(known)} if names is None else {}
        frame = frame.select([places[name] for name in needed if name is not None])
    return _told(estimator, frame)


def _by_name(estimator: Any, names: list[str], needed: list[str | None]) -> list[str]:
    """The columns that a model needs. Others that it has never seen are left out, and said."""
    missing = [name for name in needed if name not in set(names)]
    known = set(estimator.feature_names_in_)
    new = [name for name in names if name not in known]
    listed = ", ".join(f"`{name}`" for name in new[:10]) + (", ..." if len(new) > 10 else "")
    if missing:
        rest = f"; it has columns that were not there at fit time: {listed}" if new else ""
        raise ValueError(
            f"X lacks columns that {type(estimator).__name__} was fitted on: {', '.join(f'`{m}`' for m in missing)}{rest}"
        )
    if new:
        warnings.warn(f"columns that were not there at fit time are not used: {listed}", UserWarning, stacklevel=5)
    return [name for name in needed if name is not None]


def _told(estimator: Any, frame: Frame, means: list[float] | None = None) -> PreparedFrame:
    """The features of a frame; says what no training row has had."""
    model: Model = estimator._model
    features, notes = model.prepare(frame, means)
    for column, _, unseen, example in notes:
        if unseen:
            cells = "1 cell has a value" if unseen == 1 else f"{unseen} cells have values"
            warnings.warn(
                f"column `{column}`: {cells} that training has not seen (such as `{example}`), which count as none of them",
                UserWarning,
                stacklevel=5,
            )
    return features


def _filled(estimator: Any, X: Any, means: NDArray[np.float64]) -> PreparedFrame:
    """Numbers with gaps, where the training rows of numbers had none: what is missing gets the mean."""
    validate_data(estimator, X, reset=False, skip_check_array=True)
    return _told(estimator, frame_of(X), means.tolist())


def collected(table: Any) -> Any:
    """Dask collections and lazy frames of Polars as what they stand for, in memory as a whole; what else speaks Arrow as its tables;
    everything else as it is."""
    if hasattr(table, "__dask_graph__"):
        return table.compute()
    lazy = getattr(sys.modules.get("polars"), "LazyFrame", None)
    if lazy is not None and isinstance(table, lazy):
        return table.collect()
    return as_arrow_table(table) if speaks_arrow(table) else table


def class_names(classes: NDArray[Any]) -> list[str]:
    """Labels as the texts that model files store; whole numbers have no decimal point."""
    return [_class_name(label) for label in classes.tolist()]


def class_weight_by_name(class_weight: Any, classes: NDArray[Any]) -> str | dict[str, float] | None:
    """Weights of classes, as the extension module takes them.

    Classes that the data lacks are left out if all that it has are named: a fold may lack some. Otherwise a class that the data
    lacks is taken for a mistake, as scikit-learn does.
    """
    if not isinstance(class_weight, dict):
        return class_weight  # type: ignore[no-any-return]
    # By labels: names alone would let "1" pass for 1.
    names = dict(zip(classes.tolist(), class_names(classes), strict=True))
    present = {names[label]: weight for label, weight in class_weight.items() if label in names}
    if len(present) < min(len(names), len(class_weight)):
        unknown = next(label for label in class_weight if label not in names)
        raise ValueError(f"`class_weight` must name classes of the data, found {unknown!r}")
    return present


def label_kind(classes: NDArray[Any]) -> str:
    """What labels are, in the words of model files, which have none for times: they would come back as texts."""
    if np.asarray(classes).dtype.kind in "mM":
        raise ValueError(
            "a model file knows texts, numbers and truth values as classes, found times; pickle the estimator, or train it "
            "on texts"
        )
    return {"i": "integer", "u": "integer", "f": "real", "b": "boolean"}.get(np.asarray(classes).dtype.kind, "text")


def classes_from_names(names: list[str], kind: str | None) -> NDArray[Any]:
    """Labels of a model file. If it does not say what they are: numbers if all of them are numbers, else texts."""
    if kind == "boolean":
        return np.array([name.lower() == "true" for name in names])
    if kind is not None:
        return np.array([{"integer": int, "real": float, "text": str}[kind](name) for name in names])
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


def _checked_frame(estimator: Any, X: Any, frame: Frame, y: Any) -> tuple[Frame, Any]:
    """As `_checked`, for columns that the library will look at."""
    validate_data(estimator, X if is_frame(X) else np.asarray(X), y, reset=True, skip_check_array=True)
    _, y = check_X_y(_shaped_like(frame), y, estimator=estimator)
    return frame, y


def _shaped_like(columns: Columns | Frame) -> NDArray[np.float64]:
    """An array of that shape which takes no memory."""
    return np.broadcast_to(np.zeros(()), columns.shape)


def _aligned(X: Any) -> Any:
    """X with rows or columns in one piece each; only cut-outs of arrays and arrays in byte buffers need a copy for that."""
    if sparse.issparse(X) or (X.flags.aligned and (X.flags.c_contiguous or X.strides[0] == X.itemsize)):
        return X
    return np.require(X, requirements=["C", "A"])
