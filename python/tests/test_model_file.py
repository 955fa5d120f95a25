"""Model files: written here, read there."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import m3svm
from m3svm import _core

ROOT = Path(__file__).parents[2]


def test_a_loaded_estimator_is_the_saved_one(any_estimator, iris, tmp_path):
    X, y = iris
    labels = np.array(["no", "yes", "maybe"])[y]
    saved = any_estimator(lam=0.2, scale="standard", class_weight={"no": 2.0}, random_state=7).fit(X, labels)
    saved.save(tmp_path / "model.m3svm")
    loaded = m3svm.load(tmp_path / "model.m3svm")
    assert type(loaded) is any_estimator
    assert loaded.get_params() == saved.get_params()
    for name in ("classes_", "coef_", "intercept_", "margins_", "objective_", "dual_gap_", "n_iter_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(saved, name))
    np.testing.assert_array_equal(loaded.predict(X), saved.predict(X))


LABELS = [
    *([1, 2], [1.0, 2.0], ["01", "1"], ["x", "1"], [-3, 10**12], [-(2**62) - 1, 2**62 + 1]),
    *(["1", "2"], ["1.0", "2"], ["True", "False"], ["1", "nan"], [True, False], [0, 1], [0.0, 1.0]),
]


@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_labels_survive_a_model_file(labels, tmp_path):
    saved = m3svm.M3SVMClassifier(class_weight={labels[0]: 2.0}).fit([[0.0], [1.0]], labels)
    saved.save(tmp_path / "m")
    loaded = m3svm.load(tmp_path / "m")
    assert loaded.classes_.dtype.kind == saved.classes_.dtype.kind
    assert repr(loaded.classes_.tolist()) == repr(sorted(labels))
    assert repr(loaded.class_weight) == repr(saved.class_weight)
    # And again.
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_times_as_labels_are_kept_by_pickles_alone(tmp_path):
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")
    model = m3svm.M3SVMClassifier().fit([[0.0], [1.0]], days)
    with pytest.raises(ValueError, match="a model file knows texts, numbers and truth values as classes, found times"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
    assert pickle.loads(pickle.dumps(model)).predict([[1.0]])[0] == days[1]


def test_labels_of_files_that_do_not_say_are_numbers_if_all_are(tmp_path):
    for names, expected in ((["1", "2"], [1, 2]), (["1", "2.5"], [1.0, 2.5]), (["01", "1"], ["01", "1"])):
        model, _ = _core.fit(np.array([[0.0], [1.0]]), np.array([0, 1], dtype=np.uint32), names, {"method": "m3svm"})
        model.save(tmp_path / "m")
        assert m3svm.load(tmp_path / "m").classes_.tolist() == expected
        with pytest.raises(ValueError, match="`labels` must be one of text, integer, real, boolean"):
            model.described("colour")


def test_estimated_probabilities_survive_a_model_file(iris, tmp_path):
    X, y = iris
    saved = m3svm.M3SVMClassifier(probability=True, random_state=0).fit(X, y)
    saved.save(tmp_path / "m")
    loaded = m3svm.load(tmp_path / "m")
    assert loaded.get_params() == {**saved.get_params(), "lam": saved.lam_}
    np.testing.assert_array_equal(loaded.predict_proba(X), saved.predict_proba(X))
    assert loaded.to_onnx() == saved.to_onnx()
    # A search comes back as what it has chosen.
    search = m3svm.CrammerSingerClassifierCV(lams=[0.1, 1.0], probability=True, random_state=0).fit(X, y)
    search.save(tmp_path / "m")
    loaded = m3svm.load(tmp_path / "m")
    assert type(loaded) is m3svm.CrammerSingerClassifier and loaded.lam == search.lam_
    np.testing.assert_array_equal(loaded.predict_proba(X), search.predict_proba(X))


def test_equal_fits_write_equal_files(any_estimator, iris, tmp_path):
    X, y = iris
    for name in ("one", "two"):
        any_estimator().fit(X, y).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_names_of_features_survive_a_model_file(iris, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = iris
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    m3svm.M3SVMClassifier().fit(frame, y).save(tmp_path / "m")
    loaded = m3svm.load(str(tmp_path / "m"))
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    loaded.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"a": "z"}))


def test_what_is_no_model_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        m3svm.load(tmp_path / "absent")
    (tmp_path / "broken").write_bytes(b"no model at all")
    with pytest.raises(ValueError, match="not a usable model file"):
        m3svm.load(tmp_path / "broken")
    with pytest.raises(OSError):
        m3svm.M3SVMClassifier().fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "no" / "folder")


def test_the_command_line_predicts_with_a_model_from_here(program, iris, tmp_path):
    X, y = iris
    model = m3svm.M3SVMClassifier(lam=0.01).fit(X, y)
    model.save(tmp_path / "m")
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", header="a,b,c,d", comments="")
    said = program("predict", tmp_path / "m", tmp_path / "x.csv").stdout.split()
    assert said[1:] == [str(label) for label in model.predict(X)]


def test_a_model_of_the_command_line_is_used_here(program, tmp_path):
    data = ROOT / "crates" / "m3svm-cli" / "data" / "iris.csv"
    program("train", data, "-o", tmp_path / "m", "--method", "ism3", "--p", "3", "--lambda", "0.1")
    model = m3svm.load(tmp_path / "m")
    assert isinstance(model, m3svm.ISM3Classifier)
    assert (model.p, model.lam, model.scale) == (3.0, 0.1, "standard")
    rows = np.genfromtxt(data, delimiter=",", skip_header=1, dtype=str)
    features, labels = rows[:, :4].astype(float), np.char.strip(rows[:, 4], '"')
    said = program("predict", tmp_path / "m", data).stdout.split()
    assert said[1:] == model.predict(features).tolist()
    twin = m3svm.ISM3Classifier(p=3.0, lam=0.1, scale="standard").fit(features, labels)
    np.testing.assert_allclose(model.coef_, twin.coef_, atol=1e-8)
