"""Tables by columns: the same bits as from rows, no copies, and errors that name the place."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from m3svm import M3SVMClassifier, M3SVMClassifierCV, MultinomialLogisticRegression, SparseMultinomialLogisticRegression
from m3svm._columns import columns_of

# Fits are cut short: it is about their bits.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# More numbers than those that are turned into rows at once.
ROWS, WIDTH = 30_000, 20


def _pandas(columns):
    return pytest.importorskip("pandas").DataFrame(columns, copy=False)


def _pandas_nullable(columns):
    def name(dtype):
        return (
            "boolean"
            if dtype == bool
            else dtype.name.replace("int", "Int").replace("uI", "UI").replace("float", "Float")
        )

    return _pandas(columns).astype({key: name(values.dtype) for key, values in columns.items()})


def _pandas_arrow(columns):
    arrow, frame = pytest.importorskip("pyarrow"), _pandas(columns)
    pandas = pytest.importorskip("pandas")
    return frame.astype({key: pandas.ArrowDtype(arrow.from_numpy_dtype(v.dtype)) for key, v in columns.items()})


def _polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def _polars_in_pieces(columns):
    polars, whole = pytest.importorskip("polars"), _polars(columns)
    return polars.concat([whole[:17_000], whole[17_000:29_000], whole[29_000:]], rechunk=False)


def _arrow(columns):
    return pytest.importorskip("pyarrow").table(columns)


def _arrow_in_pieces(columns):
    """Every third column is cut elsewhere, and there are pieces of nothing."""
    arrow = pytest.importorskip("pyarrow")
    cuts = [[0, 9_000, 9_000, 21_000, ROWS], [0, 12_345, ROWS], [0, ROWS]]

    def pieces(j, values):
        cut = [min(at, len(values)) for at in cuts[j % 3]]
        return arrow.chunked_array([values[a:b] for a, b in pairwise(cut)])

    return arrow.table({name: pieces(j, values) for j, (name, values) in enumerate(columns.items())})


TABLES = {
    "pandas": _pandas,
    "pandas nullable": _pandas_nullable,
    "pandas arrow": _pandas_arrow,
    "polars": _polars,
    "polars in pieces": _polars_in_pieces,
    "arrow": _arrow,
    "arrow in pieces": _arrow_in_pieces,
}


def _columns(kind, rows=ROWS):
    """Columns by name: of one type, or of many."""
    random = np.random.default_rng(3)
    X = 3 * random.standard_normal((rows, WIDTH))
    dtypes = {
        "double": ["f8"],
        "single": ["f4"],
        "mixed": ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"],
    }
    kinds = dtypes[kind]
    types = [np.dtype(kinds[j % len(kinds)]) for j in range(WIDTH)]
    whole = [np.abs(X[:, j]) if dtype.kind in "u" else X[:, j] for j, dtype in enumerate(types)]
    columns = {
        f"f{j}": (values > 0 if types[j].kind == "b" else values.astype(types[j])) for j, values in enumerate(whole)
    }
    y = np.argmax(X[:, :3] + random.standard_normal((rows, 3)), axis=1)
    rows = np.stack(list(columns.values()), axis=1, dtype=np.float32 if kind == "single" else np.float64)
    return columns, rows, y


@pytest.mark.parametrize("kind", ["double", "single", "mixed"])
@pytest.mark.parametrize("table", TABLES)
def test_tables_give_the_bits_of_rows(table, kind):
    columns, rows, y = _columns(kind)
    X = TABLES[table](columns)
    assert X.shape == rows.shape
    assert columns_of(X) is not None
    expected = MultinomialLogisticRegression(max_iter=4).fit(rows, y)
    model = MultinomialLogisticRegression(max_iter=4).fit(X, y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(rows))
    np.testing.assert_array_equal(model.predict(X), expected.predict(rows))
    assert model.feature_names_in_.tolist() == list(columns)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "estimator", [MultinomialLogisticRegression, M3SVMClassifier, SparseMultinomialLogisticRegression]
)
def test_arrays_in_column_order_give_the_bits_of_rows(dtype, estimator):
    _, rows, y = _columns("double")
    rows = rows.astype(dtype)
    expected = estimator(max_iter=4).fit(rows, y)
    whole = np.asfortranarray(rows)
    # A cut through the rows leaves columns in one piece each.
    longer = np.asfortranarray(np.concatenate([rows[:5], rows]))[5:]
    for X in (whole, longer):
        model = estimator(max_iter=4).fit(X, y)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(rows))


@pytest.mark.parametrize("table", ["pandas", "pandas nullable", "pandas arrow", "polars", "arrow"])
def test_columns_are_where_the_table_has_them(table):
    columns, _, _ = _columns("double", 50)
    X = TABLES[table](columns)
    first, second = columns_of(X), columns_of(X)
    assert len(first.parts) == 1
    for one, other in zip(first.parts[0], second.parts[0], strict=True):
        assert np.shares_memory(one, other)


def test_a_frame_around_rows_is_used_as_rows():
    pandas = pytest.importorskip("pandas")
    rows = np.random.default_rng(0).standard_normal((50, 4))
    frame = pandas.DataFrame(rows, columns=list("abcd"), copy=False)
    if not np.shares_memory(rows, frame.to_numpy()):
        pytest.skip("this pandas copies the rows")
    assert columns_of(frame) is None
    model = M3SVMClassifier().fit(frame, np.arange(50) % 2)
    np.testing.assert_array_equal(model.coef_, M3SVMClassifier().fit(rows, np.arange(50) % 2).coef_)


def test_a_frame_in_one_block_is_cut_by_numpy_and_not_by_pandas(monkeypatch):
    """pandas takes tens of microseconds for a column, NumPy a fraction of one."""
    pandas = pytest.importorskip("pandas")
    rows = np.random.default_rng(0).standard_normal((50, 4))
    whole = pandas.DataFrame(np.asfortranarray(rows))
    cuts = {
        "whole": whole,
        "rows": whole.iloc[7:20],
        "columns": whole.iloc[:, 1:3],
        "integers": whole.round().astype(int),
        "truths": whole > 0,
    }
    # One column in memory of its own: nothing that could be had in one piece without a copy.
    parts = whole.assign(more=1.0)
    for name, frame in {**cuts, "parts": parts}.items():
        with monkeypatch.context() as patch:
            asked = []
            patch.setattr(pandas.DataFrame, "to_numpy", _counting(pandas.DataFrame.to_numpy, asked))
            found = columns_of(frame)
        # Nothing is asked for as an array but a single row, and the whole if it is one.
        assert asked == ([1, len(frame)] if name != "parts" else [1]), name
        np.testing.assert_array_equal(np.asarray(found), frame.to_numpy(dtype=float))
        for j, column in enumerate(found.parts[0]):
            assert np.shares_memory(column, frame.iloc[:, j].to_numpy()), name


def _counting(method, asked):
    """A method of frames that also notes the rows of those that it is called for."""

    def counted(frame, *args, **kwargs):
        asked.append(len(frame))
        return method(frame, *args, **kwargs)

    return counted


def test_short_pieces_are_joined():
    polars = pytest.importorskip("polars")
    _, rows, _ = _columns("double", 60)
    frame = polars.concat([polars.DataFrame(rows[at : at + 4]) for at in range(0, 60, 4)], rechunk=False)
    found = columns_of(frame)
    assert len(found.parts) == 1
    np.testing.assert_array_equal(np.asarray(found), rows)


@pytest.mark.parametrize("table", ["pandas", "polars in pieces", "arrow in pieces"])
def test_what_needs_copies_of_rows_gets_the_same_ones(table):
    columns, rows, y = _columns("mixed", 300)
    X = TABLES[table](columns)
    for model in (
        M3SVMClassifier(probability=True, random_state=0),
        M3SVMClassifierCV(lams=[1e-3, 1e-1], ps=[2], cv=3),
        M3SVMClassifier(scale="standard"),
    ):
        expected = model.__class__(**model.get_params()).fit(rows, y)
        model.fit(X, y)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        assert getattr(model, "temperature_", None) == getattr(expected, "temperature_", None)
    batches = M3SVMClassifier(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    expected = M3SVMClassifier(random_state=0).partial_fit(rows, y, classes=[0, 1, 2])
    np.testing.assert_array_equal(batches.coef_, expected.coef_)


def test_rows_are_taken_across_pieces():
    columns, rows, _ = _columns("single")
    chosen = np.array([29_999, 0, 12_344, 12_345, 9_000, 0])
    taken = columns_of(_arrow_in_pieces(columns))[chosen]
    assert taken.dtype == np.float32
    np.testing.assert_array_equal(taken, rows[chosen])


# Of two missing values the first in the order of rows is named; so is that of the later columns.
@pytest.mark.parametrize(
    "library", ["pandas Int64", "pandas arrow", "polars", "polars in pieces", "arrow", "arrow in pieces"]
)
def test_missing_values_are_refused_by_their_place(library):
    a, b = [1, 2, 3, None], [1.5, 2.5, None, 4.5]
    name, _, how = library.partition(" ")
    frames = pytest.importorskip("pyarrow" if name == "arrow" else name)
    if name == "pandas":
        kinds = ("Int64", "Float64") if how == "Int64" else ("int64[pyarrow]", "double[pyarrow]")
        if how == "arrow":
            pytest.importorskip("pyarrow")
        X = frames.DataFrame({"a": frames.array(a, dtype=kinds[0]), "b": frames.array(b, dtype=kinds[1])})
    elif name == "polars":
        X = frames.DataFrame({"a": a, "b": b})
        X = frames.concat([X[:2], X[2:]], rechunk=False) if how else X
    else:
        X = frames.table({"a": a, "b": b})
        X = frames.concat_tables([X.slice(0, 2), X.slice(2)]) if how else X
    with pytest.raises(ValueError, match=r"Input X contains NaN: row 3, feature 2 \('b'\): the value is missing"):
        M3SVMClassifier(preparation=None).fit(X, [0, 1, 0, 1])
    whole = X[:2] if name != "arrow" else X.slice(0, 2)
    model = M3SVMClassifier(preparation=None).fit(whole, [0, 1])
    with pytest.raises(ValueError, match=r"row 3, feature 2 \('b'\)"):
        model.predict(X)
    # What is prepared may have gaps.
    assert M3SVMClassifier().fit(X, [0, 1, 0, 1]).prepared_feature_names_.tolist() == [
        "a",
        "a=(missing)",
        "b",
        "b=(missing)",
    ]
    expected = M3SVMClassifier().fit(whole, [0, 1]).predict(np.array([[1.0, 1.5], [2.0, 2.5], [3.0, 2.0], [1.5, 4.5]]))
    np.testing.assert_array_equal(M3SVMClassifier().fit(whole, [0, 1]).predict(X), expected)


@pytest.mark.parametrize("table", ["pandas", "polars", "arrow in pieces"])
@pytest.mark.parametrize("rows", [40, ROWS])
@pytest.mark.parametrize(("value", "word", "found"), [(np.nan, "NaN", "NaN"), (-np.inf, "-inf", "infinity")])
def test_numbers_that_are_not_finite_are_refused_by_their_place(table, rows, value, word, found):
    columns, _, y = _columns("double", rows)
    columns["f2"][30], columns["f7"][29], columns["f9"][29] = value, value, value
    # The words before the place are those of scikit-learn.
    with pytest.raises(ValueError, match=f"Input X contains {found}: row 30, feature 8: the value is {word}"):
        M3SVMClassifier(preparation=None).fit(TABLES[table](columns), y)


@pytest.mark.parametrize("table", ["pandas", "polars", "arrow"])
def test_tables_are_checked_like_arrays(table):
    columns, _, y = _columns("double", 40)
    make = TABLES[table]
    model = M3SVMClassifier().fit(make(columns), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        M3SVMClassifier().fit(make(columns), y[:-1])
    with pytest.raises(ValueError, match="requires y to be passed"):
        M3SVMClassifier().fit(make(columns), None)
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(make({name: values[:0] for name, values in columns.items()}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(make({f"x{name}": values for name, values in columns.items()}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(make({name: columns[name] for name in list(columns)[:5]}))
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(np.zeros((2, WIDTH)))
    assert not hasattr(M3SVMClassifier().fit(np.eye(3), [0, 1, 0]), "feature_names_in_")


def test_columns_of_other_types_are_converted_where_nothing_is_prepared():
    pandas = pytest.importorskip("pandas")
    rows = np.array([[1.0, 4.0], [2.0, 3.0], [3.0, 9.0]])
    expected = M3SVMClassifier().fit(rows, [0, 1, 0])
    for frame in (
        pandas.DataFrame({"a": ["1", "2", "3"], "b": rows[:, 1]}),
        pandas.DataFrame({"a": np.array([1, 2, 3], dtype=object), "b": rows[:, 1]}),
        pandas.DataFrame({"a": rows[:, 0].astype(np.float16), "b": rows[:, 1]}),
        pandas.DataFrame({"a": rows[:, 0].astype(">f8"), "b": rows[:, 1]}),
    ):
        assert columns_of(frame) is None
        np.testing.assert_array_equal(M3SVMClassifier(preparation=None).fit(frame, [0, 1, 0]).coef_, expected.coef_)
    with pytest.raises((ValueError, TypeError)):
        M3SVMClassifier(preparation=None).fit(pandas.DataFrame({"a": ["x", "y", "z"]}), [0, 1, 0])
    with pytest.raises(ValueError, match="[Cc]omplex"):
        M3SVMClassifier().fit(pandas.DataFrame({"a": [1j, 2j, 3j]}), [0, 1, 0])


def test_wide_frames_with_few_rows_are_not_taken_apart():
    """Taking 1,500 columns apart would cost a tenth of a second at every prediction."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.ones((20, 1500)))
    assert columns_of(frame) is None
    assert columns_of(pandas.DataFrame(np.asfortranarray(np.ones((20, 15))))) is not None
