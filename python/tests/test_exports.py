"""Models in other formats say what they say here."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import m3svm
from m3svm import M3SVMClassifier, MultinomialLogisticRegression, OneVsOneSVMClassifier, _core

# Without ONNX there is less to test; the packages are part of the tests' environment.
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

DATA = Path(os.environ.get("M3SVM_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture(params=["iris", "vehicle", "dermatology"], scope="module")
def real(request):
    """Real data; only iris is always there."""
    if request.param == "iris":
        from sklearn.datasets import load_iris

        return load_iris(return_X_y=True)
    file = DATA / f"{request.param}.csv.gz"
    if not file.is_file():
        pytest.skip(f"there is no {file.name} in the folder that M3SVM_DATA names")
    table = np.loadtxt(file, delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1].astype(int)


def class_scores(model, X):
    """One column per class, also with two classes."""
    return model._model.scores(np.ascontiguousarray(X), None)


def run_onnx(model, X):
    session = onnxruntime.InferenceSession(model.to_onnx(dtype=X.dtype), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": X}), strict=True))


def assert_onnx_agrees(model, X, dtype):
    X = np.ascontiguousarray(X, dtype=dtype)
    said = run_onnx(model, X)
    np.testing.assert_array_equal(said["label"], model.predict(X))
    assert said["scores"].dtype == dtype
    expected = class_scores(model, X)
    np.testing.assert_allclose(said["scores"], expected, rtol=0, atol=1e-6 * max(1.0, np.abs(expected).max()))
    assert ("probabilities" in said) == hasattr(model, "predict_proba")
    if "probabilities" in said:
        np.testing.assert_allclose(said["probabilities"], model.predict_proba(X), rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
def test_onnx_has_the_same_labels_and_scores(any_estimator, real, dtype):
    X, y = real
    model = any_estimator(lam=0.1, scale="standard", tol=1e-3).fit(X, y)
    assert_onnx_agrees(model, X, dtype)


def test_onnx_has_the_votes_of_pairs_where_they_are_equal():
    # Classes that overlap: circles of votes are common in their middle.
    random = np.random.RandomState(0)
    X, y = random.randn(60, 2), np.arange(60) % 5
    model = OneVsOneSVMClassifier().fit(X, y)
    new = random.randn(5000, 2)
    votes = np.sort(np.round(class_scores(model, new)), axis=1)
    assert (votes[:, -1] == votes[:, -2]).sum() > 10
    assert_onnx_agrees(model, new, np.float64)
    assert_onnx_agrees(model, new, np.float32)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "cosine"])
@pytest.mark.parametrize("estimator", [M3SVMClassifier, OneVsOneSVMClassifier], ids=lambda e: e.__name__)
def test_onnx_has_kernels(iris, estimator, kernel):
    X, y = iris
    # Far from zero: what is lost there costs labels.
    X = X + 1000.0
    model = estimator(kernel=kernel, coef0=1.0, scale="standard", probability=True).fit(X, y)
    onnx.checker.check_model(onnx.load_from_string(model.to_onnx()), full_check=True)
    assert_onnx_agrees(model, X, np.float64)
    assert_onnx_agrees(model, X, np.float32)
    with pytest.raises(ValueError, match="linear scores only"):
        model.to_liblinear()


@pytest.mark.parametrize(
    ("labels", "kind"),
    [(["b", "a"], "text"), (["2", "10"], "text"), ([7, -3], "int64"), ([1.0, 2.0], "int64"), ([True, False], "text")],
    ids=str,
)
def test_onnx_labels_have_the_type_of_the_classes(labels, kind):
    model = M3SVMClassifier().fit([[0.0], [1.0]], labels)
    said = run_onnx(model, np.array([[0.0], [1.0]]))["label"]
    assert (said.dtype == np.int64) == (kind == "int64")
    expected = model.predict([[0.0], [1.0]])
    assert [str(label) for label in said] == [str(label) if kind == "text" else str(int(label)) for label in expected]


def test_onnx_has_estimated_probabilities_too(iris):
    X, y = iris
    for model in (M3SVMClassifier(probability=True), OneVsOneSVMClassifier(probability=True)):
        assert_onnx_agrees(model.fit(X, y), X, np.float64)


def test_onnx_files_are_valid_and_describe_themselves(any_estimator, iris):
    X, y = iris
    pandas = pytest.importorskip("pandas")
    model = any_estimator().fit(pandas.DataFrame(X, columns=["a", "b", "c", "d"]), np.array(["x", "y", "z"])[y])
    for dtype in ("float32", "float64"):
        graph = onnx.load_from_string(model.to_onnx(dtype=dtype))
        onnx.checker.check_model(graph, full_check=True)
        assert graph.producer_name == "m3svm"
        notes = {entry.key: entry.value for entry in graph.metadata_props}
        assert json.loads(notes["feature_names"]) == ["a", "b", "c", "d"]
        assert json.loads(notes["classes"]) == ["x", "y", "z"]
        assert notes["method"] == any_estimator._method
    with pytest.raises(ValueError, match="dtype must be float32 or float64, found float16"):
        model.to_onnx(dtype="float16")


def test_c_compiles_and_agrees(real, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler `cc`")
    X, y = real
    for model in (M3SVMClassifier(scale="standard", tol=1e-3), OneVsOneSVMClassifier(scale="standard", tol=1e-3)):
        model.fit(X, y)
        name = type(model).__name__
        (tmp_path / f"{name}.c").write_text(model.to_c(name=name))
        library = tmp_path / f"{name}.so"
        subprocess.run(["cc", "-std=c99", "-shared", "-fPIC", "-o", library, tmp_path / f"{name}.c"], check=True)
        code = ctypes.CDLL(str(library))
        pointer = ctypes.POINTER(ctypes.c_double)
        scores = np.empty((len(X), len(model.classes_)))
        found = []
        for row, out in zip(np.ascontiguousarray(X, dtype=float), scores, strict=True):
            found.append(getattr(code, f"{name}_predict")(row.ctypes.data_as(pointer)))
            getattr(code, f"{name}_scores")(row.ctypes.data_as(pointer), out.ctypes.data_as(pointer))
        np.testing.assert_array_equal(model.classes_[found], model.predict(X))
        np.testing.assert_allclose(scores, class_scores(model, X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64], ids=["f32", "f64", "i64"])
def test_pipelines_become_onnx(any_estimator, iris, dtype):
    skl2onnx = pytest.importorskip("skl2onnx")
    m3svm.register_skl2onnx()
    X, y = np.round(10 * iris[0]).astype(dtype), iris[1]
    for classes in (3, 2):
        X, y = X[y < classes], y[y < classes]
        for labels in (y, np.array(["no", "yes", "maybe"])[y], *([y == 1] if classes == 2 else [])):
            pipeline = make_pipeline(StandardScaler(), any_estimator(lam=0.1, tol=1e-3)).fit(X, labels)
            graph = skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False})
            onnx.checker.check_model(graph, full_check=True)
            session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
            found, values = session.run(None, {"X": X})
            np.testing.assert_array_equal(found, pipeline.predict(X))
            # With two classes the scores are those of both scorers; a vector stands for both.
            native = hasattr(pipeline, "predict_proba")
            expected = pipeline.predict_proba(X) if native else class_scores(pipeline[-1], pipeline[0].transform(X))
            np.testing.assert_allclose(values, expected, rtol=0, atol=1e-4 * max(1.0, np.abs(expected).max()))


def test_options_of_skl2onnx_are_those_of_its_own_classifiers(iris, tmp_path):
    skl2onnx = pytest.importorskip("skl2onnx")
    m3svm.register_skl2onnx()
    X, y = iris[0].astype(np.float32), np.array(["no", "yes", "maybe"])[iris[1]]
    model = m3svm.ISM3ClassifierCV(lams=[0.1, 1.0], ps=[2.0]).fit(X, y)

    def run(**options):
        graph = skl2onnx.to_onnx(model, X[:1], options={id(model): options})
        return onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"]).run(
            None, {"X": X}
        )

    labels, maps = run()
    assert labels.tolist() == model.predict(X).tolist()
    assert maps[0] == pytest.approx(dict(zip(model.classes_, model.predict_proba(X)[0], strict=True)), abs=1e-5)
    np.testing.assert_allclose(run(zipmap=False, raw_scores=True)[1], class_scores(model, X.astype(float)), atol=1e-4)
    numbers = run(zipmap=False, nocl=True)[0]
    np.testing.assert_array_equal(model.classes_[numbers], model.predict(X))
    # scikit-learn trains no such classes, the command line does.
    numbers = iris[1].astype(np.uint32)
    _core.fit(X, numbers, ["0.5", "1.5", "2.5"], {"method": "m3svm"})[0].save(tmp_path / "halves")
    halves = m3svm.load(tmp_path / "halves")
    with pytest.raises(ValueError, match="whole numbers or texts, found fractions"):
        skl2onnx.to_onnx(halves, X[:1], options={"zipmap": False})


def test_without_skl2onnx_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match="pip install skl2onnx"):
        m3svm.register_skl2onnx()


def test_liblinear_predicts_the_same(any_estimator, real, tmp_path):
    liblinear = pytest.importorskip("liblinear.liblinearutil")
    X, y = real
    model = any_estimator(lam=0.1, scale="standard", tol=1e-3).fit(X, y)
    if any_estimator is OneVsOneSVMClassifier:
        with pytest.raises(ValueError, match="LIBLINEAR has no votes"):
            model.to_liblinear()
        return
    (tmp_path / "model").write_text(model.to_liblinear())
    theirs = liblinear.load_model(str(tmp_path / "model"))
    labels, _, scores = liblinear.predict([], X, theirs, "-q")
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(scores, class_scores(model, X), rtol=1e-9, atol=1e-9)


def test_two_classes_have_two_columns_everywhere(iris, tmp_path):
    liblinear = pytest.importorskip("liblinear.liblinearutil")
    X, y = iris
    X, y = X[50:], y[50:]
    model = MultinomialLogisticRegression().fit(X, y)
    assert_onnx_agrees(model, X, np.float64)
    (tmp_path / "model").write_text(model.to_liblinear())
    labels, _, _ = liblinear.predict([], X, liblinear.load_model(str(tmp_path / "model")), "-q")
    np.testing.assert_array_equal(labels, model.predict(X))
    assert np.array(json.loads(model.to_json())["weights"]).shape == (2, 4)


def test_labels_of_liblinear_are_whole_numbers():
    model = M3SVMClassifier().fit([[0.0], [1.0]], ["yes", "no"])
    with pytest.raises(ValueError, match="whole numbers of 32 bits, found the class `no`"):
        model.to_liblinear()


def test_json_says_how_to_use_it(iris):
    X, y = iris
    model = M3SVMClassifier(scale="minmax", probability=True).fit(X, y)
    said = json.loads(model.to_json())
    np.testing.assert_array_equal(said["weights"], model.coef_)
    np.testing.assert_array_equal(said["intercept"], model.intercept_)
    assert (said["format"], said["version"], said["scheme"]) == ("m3svm-linear-classifier", 1, "joint")
    assert said["temperature"] == model.temperature_
    assert json.loads(OneVsOneSVMClassifier().fit(X, y).to_json())["pairs"] == [[0, 1], [0, 2], [1, 2]]


def test_only_what_is_fitted_can_be_exported():
    for name in ("to_onnx", "to_c", "to_json", "to_liblinear"):
        with pytest.raises(NotFittedError):
            getattr(M3SVMClassifier(), name)()
    with pytest.raises(ValueError, match="`name` must be letters"):
        M3SVMClassifier().fit([[0.0], [1.0]], [0, 1]).to_c(name="no name")


def test_the_program_writes_the_same(program, iris, tmp_path):
    X, y = iris
    model = MultinomialLogisticRegression().fit(X, y)
    model.save(tmp_path / "m")
    written = {"c": model.to_c(), "json": model.to_json(), "liblinear": model.to_liblinear()}
    for name, text in written.items():
        assert program("export", tmp_path / "m", "--format", name).stdout == text
    program("export", tmp_path / "m", "--format", "onnx", "-o", tmp_path / "m.onnx", "--precision", "double")
    assert (tmp_path / "m.onnx").read_bytes() == model.to_onnx(dtype=float)
    assert m3svm.load(tmp_path / "m").to_onnx() == model.to_onnx()
