"""The ways in which data arrives, and that the common ones are not copied."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import sparse

from m3svm import M3SVMClassifier, MultinomialLogisticRegression


@pytest.fixture(scope="module")
def table():
    random = np.random.RandomState(1)
    X = random.randn(60, 5) * (random.rand(60, 5) < 0.6)
    y = np.argmax(X[:, :3], axis=1)
    return X, y, MultinomialLogisticRegression().fit(X, y)


def _memmap(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    return np.load(tmp_path / "x.npy", mmap_mode="r")


def _unaligned(X):
    return np.frombuffer(b"x" + X.tobytes(), dtype=X.dtype, offset=1).reshape(X.shape)


def _csr64(X):
    matrix = sparse.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


STORAGES = {
    "list": lambda X, _: X.tolist(),
    "read-only": lambda X, _: _read_only(X),
    "memory map": _memmap,
    "fortran": lambda X, _: np.asfortranarray(X),
    "every other": lambda X, _: np.repeat(X, 2, axis=0)[::2],
    "unaligned": lambda X, _: _unaligned(X),
    "big endian": lambda X, _: X.astype(">f8"),
    "csr matrix": lambda X, _: sparse.csr_matrix(X),
    "csr array": lambda X, _: sparse.csr_array(X),
    "csr with int64": lambda X, _: _csr64(X),
    "csc": lambda X, _: sparse.csc_array(X),
    "coo": lambda X, _: sparse.coo_array(X),
}


def _read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage_gives_the_same_model(table, storage, tmp_path):
    X, y, expected = table
    stored = STORAGES[storage](X, tmp_path)
    model = MultinomialLogisticRegression().fit(stored, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    np.testing.assert_allclose(model.decision_function(stored), expected.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(model.predict(stored), expected.predict(X))


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_single_precision_stays_single_and_agrees_within_it(table, storage):
    X, y, expected = table
    single = X.astype(np.float32)
    stored = sparse.csr_array(single) if storage == "sparse" else single
    model = MultinomialLogisticRegression().fit(stored, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-5)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_data_frames_bring_names(table, library):
    frames = pytest.importorskip(library)
    X, y, expected = table
    names = [f"feature {j}" for j in range(5)]
    make, column = (frames.table, frames.array) if library == "pyarrow" else (frames.DataFrame, frames.Series)
    frame = make({name: X[:, j] for j, name in enumerate(names)})
    labels = column(["abc"[k] for k in y])
    model = MultinomialLogisticRegression().fit(frame, labels)
    assert model.feature_names_in_.tolist() == names
    assert model.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    np.testing.assert_array_equal(model.predict(frame), np.array(list("abc"))[expected.predict(X)])


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_lazy_tables_are_brought_into_memory(table):
    X, y, expected = table
    names = [f"feature {j}" for j in range(5)]
    pandas, dask, arrays = (pytest.importorskip(name) for name in ("pandas", "dask.dataframe", "dask.array"))
    polars = pytest.importorskip("polars")
    frame = pandas.DataFrame(X, columns=names)
    weight = np.ones(len(y))
    for lazy, labels, weights in (
        (dask.from_pandas(frame, npartitions=3), dask.from_pandas(pandas.Series(y), npartitions=3), weight),
        (arrays.from_array(X, chunks=20), arrays.from_array(y, chunks=20), arrays.from_array(weight, chunks=20)),
        (polars.LazyFrame(dict(zip(names, X.T, strict=True))), y, None),
    ):
        model = MultinomialLogisticRegression().fit(lazy, labels, sample_weight=weights)
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
        np.testing.assert_array_equal(model.predict(lazy), expected.predict(X))
        if hasattr(lazy, "columns"):
            assert model.feature_names_in_.tolist() == names
        model.partial_fit(lazy, labels)


@pytest.mark.parametrize(
    "labels",
    [[3, 1, 2], [3.0, -1.0, 2.0], ["é", "b", "c"], [True, False, True], np.array(["x", "y", "z"], dtype=object)],
    ids=str,
)
def test_labels_of_any_kind_come_back(labels):
    model = M3SVMClassifier(lam=1e-4).fit([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]], labels)
    assert model.predict([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]]).tolist() == list(labels)
    assert model.classes_.tolist() == sorted(set(labels))


def test_broken_sparse_matrices_are_refused():
    X = sparse.csr_array(np.eye(3))
    for indices in ([0, 1, 7], [0, 1, -1]):
        broken = X.copy()
        broken.indices = np.array(indices, dtype=np.int32)
        with pytest.raises(ValueError, match="column index"):
            M3SVMClassifier().fit(broken, [0, 1, 0])


# Runs in a process of its own: the peak of a process never falls again. Hence also no large arrays on the way to X.
_PEAK = """
    import re, warnings
    import numpy as np
    from scipy import sparse
    from m3svm import M3SVMClassifier
    from m3svm._columns import columns_of

    warnings.simplefilter("ignore")
    random = np.random.default_rng(0)

    def peak():
        # Not getrusage: its peak is inherited from the process that started this one.
        return int(re.search(r"VmHWM:\\s+([0-9]+)", open("/proc/self/status").read())[1])

    def growth(X, y, **settings):
        size = X.data.nbytes if hasattr(X, "data") else sum(column.nbytes for part in columns_of(X).parts for column in part)
        before = peak()
        M3SVMClassifier(max_iter=2, **settings).fit(X, y).predict(X)
        return (peak() - before) * 1024 / size

    def column(j):
        return random.integers(-99, 99, 40_000) if j % 5 == 1 else random.standard_normal(40_000)

    growth(random.standard_normal((2000, 400)), np.arange(2000) % 3)  # whatever does not depend on the rows
    {prepare}
    X = {make}
    y = np.arange(X.shape[0]) % 3
    print(growth(X, y), growth(X, y, scale="maxabs"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
@pytest.mark.parametrize(
    ("make", "library"),
    [
        ("random.standard_normal((40_000, 400))", None),
        # Few enough numbers for the copy in single precision that fits with more parameters make.
        ("random.standard_normal((20_000, 400))", None),
        ("random.standard_normal((60_000, 400), dtype=np.float32)", None),
        # 120 entries in every row: the features outweigh what every row and class needs, and matrices of a fixed size.
        (
            "sparse.csr_array((random.standard_normal(24_000_000), np.resize(np.arange(400, dtype='i4'), 24_000_000), np.arange(0, 24_000_001, 120, dtype='i4')), (200_000, 400))",
            None,
        ),
        ("random.standard_normal((400, 40_000)).T", None),
        ("pandas.DataFrame({f'f{j}': column(j) for j in range(400)}, copy=False)", "pandas"),
        ("polars.DataFrame([polars.Series(f'f{j}', column(j)) for j in range(400)])", "polars"),
        (
            "pyarrow.table({f'f{j}': pyarrow.chunked_array(np.split(column(j), [9_000])) for j in range(400)})",
            "pyarrow",
        ),
    ],
    ids=[
        "double",
        "fewer",
        "single",
        "sparse",
        "columns",
        "pandas",
        "polars",
        "arrow",
    ],
)
def test_training_and_prediction_do_not_copy_the_features(make, library):
    if library:
        pytest.importorskip(library)
    script = textwrap.dedent(_PEAK.format(make=make, prepare=f"import {library}" if library else ""))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    untouched, scaled = map(float, done.stdout.split())
    # What remains is some numbers per row and class, and the matrices of one Newton step. Scaling does need a copy, and
    # shows that one would be noticed.
    assert untouched < 0.5 < scaled, (untouched, scaled)


def _coefficients_in_child(queue, X, y):
    queue.put(MultinomialLogisticRegression().fit(X, y).coef_)


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="there is no fork here")
def test_a_forked_process_can_train_after_its_parent_has():
    random = np.random.RandomState(0)
    X, y = random.randn(4000, 20), random.randint(0, 3, 4000)
    expected = MultinomialLogisticRegression().fit(X, y).coef_
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_coefficients_in_child, args=(queue, X, y))
    child.start()
    found = queue.get(timeout=60)
    child.join(60)
    np.testing.assert_array_equal(found, expected)
