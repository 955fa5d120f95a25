"""No input makes the border between Python and Rust panic: bad ones are ValueError or TypeError, whatever they are."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from m3svm import M3SVMClassifier, OneVsOneSVMClassifier, _core
from m3svm._columns import Columns

# Everything that may happen to someone who passes nonsense.
ALLOWED = (ValueError, TypeError)
quick = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

numbers = st.floats(allow_nan=True, allow_infinity=True, width=32)
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6)
arrays = st.one_of(
    hnp.arrays(np.float64, shapes, elements=numbers),
    hnp.arrays(np.float32, shapes, elements=numbers),
    hnp.arrays(np.int64, shapes),
    hnp.arrays(np.bool_, shapes),
    hnp.arrays(np.complex64, shapes),
    hnp.arrays(np.dtype("U3"), shapes),
    hnp.arrays(np.dtype("M8[s]"), shapes),
)
matrices = hnp.arrays(np.float64, st.tuples(st.integers(0, 6), st.integers(0, 3)), elements=numbers)
anything = st.one_of(
    arrays, matrices, st.none(), st.text(max_size=3), st.integers(), st.lists(st.integers(), max_size=6)
)


def survives(call):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except ALLOWED:
        pass


@quick
@given(anything, anything, st.one_of(st.none(), arrays))
def test_fit_survives_anything(X, y, weight):
    survives(lambda: M3SVMClassifier(max_iter=3).fit(X, y, sample_weight=weight))


@quick
@given(matrices, st.lists(st.integers(0, 2), max_size=6), st.lists(numbers, max_size=6))
def test_fit_survives_nearly_good_data(X, y, weight):
    survives(lambda: OneVsOneSVMClassifier(max_iter=3).fit(X, y[: len(X)], sample_weight=weight[: len(X)]))


@quick
@given(anything, anything, anything, st.one_of(st.none(), arrays))
def test_batches_survive_anything(X, y, classes, weight):
    survives(lambda: M3SVMClassifier().partial_fit(X, y, classes=classes, sample_weight=weight))
    model = M3SVMClassifier().partial_fit([[0.0, 1.0]], [1], classes=[0, 1])
    survives(lambda: model.partial_fit(X, y, classes=classes, sample_weight=weight))
    assert model.predict([[0.0, 1.0]]).shape == (1,)


@quick
@given(matrices, st.lists(st.integers(0, 3), max_size=6), st.lists(numbers, max_size=6))
def test_batches_survive_nearly_good_data(X, y, weight):
    model = M3SVMClassifier(scale="standard")
    for _ in range(2):
        survives(lambda: model.partial_fit(X, y[: len(X)], [0, 1, 2], sample_weight=weight[: len(X)]))


@quick
@given(st.one_of(st.none(), st.text(max_size=5), st.floats(), st.integers()), st.sampled_from(["text", "int"]))
def test_exports_survive_anything(option, kind):
    model = M3SVMClassifier(max_iter=3).fit([[0.0, 1.0], [1.0, 0.0]], ["\0é", "b"] if kind == "text" else [1, 2])
    survives(lambda: model.to_c(name=option))
    survives(lambda: model.to_onnx(dtype=option))
    survives(lambda: model.to_liblinear())
    for format in ("onnx", "c", "json", "liblinear", option):
        survives(lambda format=format: model._model.export(format, temperature=option))
        survives(lambda format=format: model._model.export(format, name=option))


@quick
@given(st.lists(st.text(max_size=4), min_size=2, max_size=4, unique=True), st.floats(1e-300, 1e300))
def test_any_classes_and_any_scale_can_be_exported(names, size):
    x = np.arange(len(names), dtype=float)[:, None] * size
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = np.arange(len(names), dtype=np.uint32)
            model = _core.fit(x, y, names, {"method": "m3svm", "max_iter": 3, "scale": "standard"})[0]
    except ALLOWED:
        return
    for format in ("onnx", "c", "json", "liblinear"):
        survives(lambda format=format: model.export(format))


@quick
@given(anything, anything, st.integers(0, 2**63))
def test_moments_of_any_content_survive(first, second, steps):
    x, y, settings = np.eye(2), np.arange(2, dtype=np.uint32), {"method": "m3svm"}
    survives(lambda: _core.fit_batch(x, y, ["a", "b"], settings, moments=(first, second, steps)))


@quick
@given(anything)
def test_predictions_survive_anything(X):
    model = M3SVMClassifier(max_iter=3).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    survives(lambda: model.predict(X))
    survives(lambda: model.decision_function(X))


@quick
@given(
    st.sampled_from(
        ["p", "lam", "delta", "epsilon", "tol", "max_iter", "n_threads", "random_state", "scale", "norm"]
        + ["solver", "class_weight", "fit_intercept", "verbose", "on_interrupt", "probability"]
    ),
    st.one_of(
        st.none(),
        st.booleans(),
        st.floats(),
        st.integers(),
        st.text(max_size=8),
        st.lists(st.floats(), max_size=2),
        st.dictionaries(st.one_of(st.integers(0, 3), st.text(max_size=1)), st.floats(), max_size=3),
    ),
)
def test_parameters_survive_anything(name, value):
    model = M3SVMClassifier().set_params(**{"max_iter": 3, name: value})
    survives(lambda: model.fit([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5], [0.1, 0.2]], [0, 1, 0, 1]))


@quick
@given(
    st.lists(st.integers(-2, 6), max_size=6),
    st.lists(st.integers(-2, 2**33), max_size=6),
    st.integers(0, 6),
    st.sampled_from([np.int32, np.int64]),
    st.tuples(st.integers(0, 5), st.integers(0, 5)),
)
def test_sparse_matrices_of_any_content_survive(pointers, indices, count, integer, shape):
    class Matrix:
        format = "csr"

    matrix = Matrix()
    matrix.shape = shape
    matrix.data = np.ones(count)
    matrix.indices = np.array(indices, dtype=np.int64).astype(integer)
    matrix.indptr = np.array(pointers, dtype=integer)
    y = np.arange(shape[0], dtype=np.uint32) % 2
    survives(lambda: _core.fit(matrix, y, ["a", "b"], {"method": "m3svm", "max_iter": 3}))


# Columns of one length in every type that there is for one, and some that are no columns.
TYPES = ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", "f2", ">f8", "c8", "U2", "M8[s]", "m8[s]"]


@st.composite
def columns(draw, rows):
    return [draw(hnp.arrays(np.dtype(draw(st.sampled_from(TYPES))), rows)) for _ in range(draw(st.integers(0, 3)))]


parts = st.lists(st.one_of(st.integers(0, 4).flatmap(columns), st.lists(anything, max_size=2)), max_size=3)


@quick
@given(parts, st.one_of(st.none(), st.tuples(st.integers(-1, 9), st.integers(-1, 2**64))))
def test_tables_of_any_content_survive(parts, shape):
    table = Columns(parts, shape)
    if shape is None:
        # What the parts would have if they were good ones.
        sizes = [len(part[0]) for part in parts if part and np.ndim(part[0]) == 1]
        table.shape = (sum(sizes), len(parts[0]) if parts else 0)
    y = np.arange(max(0, table.shape[0]), dtype=np.uint32) % 2
    survives(lambda: _core.fit(table, y, ["a", "b"], {"method": "m3svm", "max_iter": 3}))


@quick
@given(st.integers(0, 4).flatmap(columns), st.sampled_from(["pandas", "polars", "pyarrow"]), st.booleans())
def test_frames_of_any_columns_survive(columns, library, read_only):
    frames = pytest.importorskip(library)
    for column in columns:
        column.setflags(write=not read_only)
    try:
        X = (frames.table if library == "pyarrow" else frames.DataFrame)({str(j): c for j, c in enumerate(columns)})
    except (ValueError, TypeError, NotImplementedError):
        return  # These libraries do not know all types either.
    y = np.arange(X.shape[0]) % 2
    survives(lambda: M3SVMClassifier(max_iter=3).fit(X, y).predict(X))


@quick
@given(anything, anything, anything)
def test_the_extension_module_itself_survives_anything(x, y, classes):
    survives(lambda: _core.fit(x, y, classes, {"method": "m3svm"}))
    survives(lambda: _core.fit_temperature(x, y, classes))
    survives(lambda: _core.fit(np.eye(2), np.arange(2, dtype=np.uint32), ["a", "b"], {"method": classes}))


@quick
@given(st.binary(max_size=200), st.integers(0, 2000), st.integers(0, 255))
def test_damaged_models_are_refused_or_harmless(junk, position, byte):
    survives(lambda: _core.Model.from_bytes(junk))
    good = bytearray(M3SVMClassifier(max_iter=3).fit([[0.0], [1.0]], [0, 1])._model.to_bytes())
    good[position % len(good)] = byte
    survives(lambda: _core.Model.from_bytes(bytes(good)).scores(np.ones((1, 1))))


def test_messages_name_the_parameter_as_python_spells_it():
    X, y = [[0.0], [1.0]], [0, 1]
    for wrong, message in [
        ({"max_iter": 0}, "`max_iter` must be at least 1, found 0"),
        ({"lam": -1.0}, "`lam` must"),
        ({"lam": "strong"}, '`lam` must be "auto" or a number, found "strong"'),
        ({"scale": "big"}, '`scale` must be one of standard, maxabs, minmax, none, found "big"'),
        ({"n_threads": 0}, "`n_threads` must be between 1 and 1024, or -1 for all cores, found 0"),
        ({"on_interrupt": "x"}, "`on_interrupt` must be"),
        ({"max_iter": -3}, "`max_iter`"),
        ({"random_state": -1}, "Seed"),
    ]:
        with pytest.raises(ValueError, match=message):
            M3SVMClassifier(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="the weights of the rows are all zero"):
        M3SVMClassifier().fit(X, y, sample_weight=[0.0, 0.0])


def test_other_sparse_formats_are_not_mistaken_for_rows():
    with pytest.raises(ValueError, match="must be in the format csr, found csc"):
        _core.fit(sparse.csc_array(np.eye(2)), np.arange(2, dtype=np.uint32), ["a", "b"], {"method": "m3svm"})
