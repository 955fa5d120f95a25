"""Data frames as people have them: texts, categories, dates, truth values and gaps, prepared by the library."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import m3svm
from m3svm import M3SVMClassifier, M3SVMClassifierCV, MultinomialLogisticRegression

pandas = pytest.importorskip("pandas")

ROWS = 90
KINDS = np.array(["bell", "crown", "star"])[np.arange(ROWS) % 3]
FEATURES = [
    "size",
    "size=(missing)",
    "colour=blue",
    "colour=red",
    "colour=white",
    "colour=(missing)",
    "day",
    "wet",
    "wet=(missing)",
    "count",
    "count=(missing)",
    "meadow=north",
    "meadow=south",
]


def _frame():
    random = np.random.default_rng(5)
    rows = np.arange(ROWS)
    size = 10 + 4 * (rows % 3) + random.standard_normal(ROWS)
    return pandas.DataFrame(
        {
            "size": np.where(rows % 7 == 0, np.nan, size),
            "colour": [None if i % 11 == 0 else ["red", "blue", "white"][(i * i + i // 5) % 3] for i in rows],
            "day": pandas.to_datetime("2021-04-01") + pandas.to_timedelta(random.integers(0, 90, ROWS), unit="D"),
            "wet": pandas.array([None if i % 9 == 0 else bool(i % 2) for i in rows], dtype="boolean"),
            "count": pandas.array([None if i % 8 == 0 else i % 5 for i in rows], dtype="Int16"),
            "meadow": pandas.Categorical(np.where(random.random(ROWS) < 0.5, "north", "south")),
        }
    )


def _polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


def _arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)


LIBRARIES = {
    "pandas": lambda frame: frame,
    "pandas objects": lambda frame: frame.astype(object),
    "polars": _polars,
    "polars lazy": lambda frame: _polars(frame).lazy(),
    "arrow": _arrow,
    "arrow batch": lambda frame: _arrow(frame).to_batches()[0],
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_of_every_library_give_the_same_model(library):
    frame = _frame()
    expected = M3SVMClassifier().fit(frame, KINDS)
    X = LIBRARIES[library](frame)
    model = M3SVMClassifier().fit(X, KINDS)
    assert model.prepared_feature_names_.tolist() == FEATURES
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert (model.n_features_in_, model.coef_.shape) == (6, (3, len(FEATURES)))
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(frame))
    assert model.score(X, KINDS) > 0.9


def test_features_are_those_that_a_person_would_compute():
    frame = _frame()
    model = M3SVMClassifier(scale="none").fit(frame, KINDS)
    by_hand = np.column_stack(
        [
            frame["size"].fillna(frame["size"].mean()),
            frame["size"].isna(),
            *(frame["colour"].fillna(frame["colour"].mode()[0]) == colour for colour in ("blue", "red", "white")),
            frame["colour"].isna(),
            (frame["day"] - pandas.Timestamp(0)) / pandas.Timedelta(days=1),
            frame["wet"].astype("Float64").fillna(frame["wet"].astype("Float64").mean()),
            frame["wet"].isna(),
            frame["count"].astype("Float64").fillna(frame["count"].astype("Float64").mean()),
            frame["count"].isna(),
            *(frame["meadow"] == side for side in ("north", "south")),
        ]
    ).astype(float)
    expected = M3SVMClassifier().fit(by_hand, KINDS)
    np.testing.assert_allclose(
        model.decision_function(frame), expected.decision_function(by_hand), rtol=1e-5, atol=1e-6
    )


def test_new_rows_may_have_gaps_values_never_seen_and_columns_in_another_order():
    frame = _frame()
    model = M3SVMClassifier().fit(frame, KINDS)
    new = frame.iloc[:4, ::-1].copy()
    np.testing.assert_array_equal(model.predict(new), model.predict(frame.iloc[:4]))
    new["colour"] = ["violet", "red", None, "violet"]
    with pytest.warns(UserWarning, match="column `colour`: 2 cells have values .*such as `violet`"):
        assert model.predict(new).shape == (4,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame.iloc[:4].assign(day=pandas.NaT))
    with pytest.warns(UserWarning, match="not there at fit time are not used: `more`"):
        model.predict(frame.assign(more=1))


def test_other_columns_are_named():
    frame = _frame()
    model = M3SVMClassifier().fit(frame, KINDS)
    with pytest.raises(
        ValueError, match="X lacks columns .* fitted on: `size`, `wet`; .* not there at fit time: `siz`"
    ):
        model.predict(frame.drop(columns=["size", "wet"]).assign(siz=1.0))
    with pytest.raises(ValueError, match='column "size": it holds texts, expected numbers'):
        model.predict(frame.assign(size="big"))
    with pytest.raises(ValueError, match="X has 2 features, but M3SVMClassifier is expecting 6 features"):
        model.predict(np.zeros((3, 2)))


def test_fitted_estimators_keep_the_preparation_wherever_they_go(tmp_path):
    frame = _frame()
    model = M3SVMClassifier(probability=True, random_state=1).fit(frame, KINDS)
    path = tmp_path / "mixed.m3svm"
    model.save(path)
    for other in (pickle.loads(pickle.dumps(model)), m3svm.load(path)):
        np.testing.assert_array_equal(other.predict_proba(frame), model.predict_proba(frame))
        assert other.feature_names_in_.tolist() == list(frame.columns)
        assert other.n_features_in_ == 6


def test_model_selection_prepares_every_fold():
    frame = _frame()
    frame["word"] = [f"w{i}" if i % 4 == 0 else "usual" for i in range(ROWS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert np.mean(cross_val_score(M3SVMClassifier(), frame, KINDS)) > 0.75
        search = GridSearchCV(M3SVMClassifier(), {"preparation": ["auto", {"missing": "median"}]}).fit(frame, KINDS)
        assert search.best_score_ > 0.75
        for scoring in (None, "f1_macro"):
            chosen = M3SVMClassifierCV(lams=[0.01, 0.1], ps=[2.0], cv=3, scoring=scoring).fit(frame, KINDS)
            assert chosen.best_score_ > 0.75
            assert chosen.predict(frame).shape == (ROWS,)


def test_what_is_no_feature_is_left_out_with_a_warning():
    frame = _frame().assign(name=[f"F{i}" for i in range(ROWS)], year=2021, row=np.arange(ROWS))
    with pytest.warns(
        UserWarning, match=r"left out: `name` \(its texts are all different.*`year` .*`row` \(its numbers count"
    ):
        model = M3SVMClassifier().fit(frame, KINDS)
    assert model.n_features_in_ == 9
    assert model.prepared_feature_names_.tolist() == FEATURES
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame.drop(columns=["name", "year", "row"])))
    kept = M3SVMClassifier(preparation={"keep": ["year", "row"]})
    with pytest.warns(UserWarning, match="left out: `name`"):
        assert "year" in kept.fit(frame, KINDS).prepared_feature_names_
    with pytest.raises(ValueError, match="names the column `yaer`, which X does not have"):
        M3SVMClassifier(preparation={"keep": ["yaer"]}).fit(frame, KINDS)


def test_numbers_stay_as_they_are(iris):
    X, y = iris
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = M3SVMClassifier().fit(frame, y)
    np.testing.assert_array_equal(model.coef_, M3SVMClassifier().fit(X, y).coef_)
    assert not hasattr(model, "prepared_feature_names_")
    assert model._model.settings["scale"] == "none"
    gaps = X.copy()
    gaps[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        M3SVMClassifier().fit(gaps, y)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(gaps)
    # The rows of training had no gaps, those of a fold may: what is missing gets the mean.
    filled = X.copy()
    filled[3, 1] = X[:, 1].mean()
    holed = pandas.DataFrame(gaps, columns=list("abcd"))
    for frame in (holed, holed.astype("Float64"), _polars(holed)):
        np.testing.assert_allclose(model.decision_function(frame), model.decision_function(filled), rtol=1e-12)
    found = M3SVMClassifier().fit(holed, y)
    assert found.prepared_feature_names_.tolist() == ["a", "b", "b=(missing)", "c", "d"]


def test_arrays_are_prepared_if_asked(iris):
    X, y = iris
    gaps = X.copy()
    gaps[::5, 1] = np.nan
    model = M3SVMClassifier(preparation={"missing": "mean"}).fit(gaps, y)
    assert model.coef_.shape == (3, 4)
    filled = np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps)
    expected = M3SVMClassifier(scale="standard").fit(filled, y)
    np.testing.assert_allclose(model.decision_function(gaps), expected.decision_function(filled), rtol=1e-6)
    mixed = np.empty((150, 2), dtype=object)
    mixed[:, 0], mixed[:, 1] = X[:, 2], np.where(X[:, 3] > 1, "wide", "narrow")
    mixed[7, 1] = None
    model = MultinomialLogisticRegression(preparation={}).fit(mixed, y)
    assert len(model.prepared_feature_names_) == 4
    assert model.score(mixed, y) > 0.9
    assert not hasattr(model, "feature_names_in_")


def test_whole_numbers_beyond_all_floats_are_named():
    frame = _frame().assign(huge=[10**400, *range(ROWS - 1)])
    with pytest.raises(ValueError, match="column 'huge': found a whole number above 1.8e308, expected a finite number"):
        M3SVMClassifier().fit(frame, KINDS)


def test_settings_of_the_preparation_are_checked():
    frame = _frame()
    with pytest.raises(ValueError, match="`preparation` has no `mising`"):
        M3SVMClassifier(preparation={"mising": "mean"}).fit(frame, KINDS)
    with pytest.raises(ValueError, match="`missing` must be one of indicator, mean, median, error"):
        M3SVMClassifier(preparation={"missing": "drop-rows"}).fit(frame, KINDS)
    with pytest.raises(ValueError, match='`preparation` must be "auto", None or a dict'):
        M3SVMClassifier(preparation="always").fit(frame, KINDS)
    with pytest.raises(ValueError, match='row 1, column "size": the cell is empty'):
        M3SVMClassifier(preparation={"missing": "error"}).fit(frame, KINDS)
    with pytest.raises((ValueError, TypeError)):
        M3SVMClassifier(preparation=None).fit(frame, KINDS)
    with pytest.raises(ValueError, match="partial_fit takes numbers"):
        M3SVMClassifier().partial_fit(frame, KINDS, classes=["bell", "crown", "star"])
    with pytest.raises(TypeError, match="column 'size': argument must be a string or a number, found a list"):
        M3SVMClassifier().fit(frame.assign(size=[[1]] * ROWS), KINDS)
    with pytest.raises(ValueError, match="two columns of the name"):
        M3SVMClassifier().fit(pandas.concat([frame, frame[["colour"]]], axis=1), KINDS)
    model = M3SVMClassifier(preparation={"most_values": 2, "missing_words": ["blue"]}).fit(frame[["colour"]], KINDS)
    assert model.prepared_feature_names_.tolist() == ["colour=red", "colour=white", "colour=(missing)"]
    assert clone(model).preparation == model.preparation


def test_the_command_line_and_python_read_each_others_models(tmp_path, program):
    pytest.importorskip("pyarrow")
    frame = _frame()
    frame["size"] = frame["size"].astype("float32").astype(float)
    data, theirs, ours = (str(tmp_path / name) for name in ("mixed.parquet", "theirs.m3svm", "ours.m3svm"))
    frame.assign(label=KINDS).to_parquet(data)
    program("train", data, "-o", theirs)
    new = frame.assign(label=KINDS).iloc[::-1].reset_index(drop=True)
    new.loc[0, "colour"], new.loc[1, "day"] = "violet", pandas.NaT
    new.to_parquet(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = M3SVMClassifier().fit(frame, KINDS)
        model.save(ours)
        for path, here in ((theirs, m3svm.load(theirs)), (ours, model)):
            there = program("predict", path, data).stdout.split()[1:]
            assert here.predict(new.drop(columns="label")).tolist() == there


def test_exports_carry_the_preparation():
    onnxruntime = pytest.importorskip("onnxruntime")
    frame = _frame()
    model = M3SVMClassifier().fit(frame, KINDS)
    new = frame.copy()
    new.loc[:5, "colour"] = "violet"
    new.loc[3:9, "size"] = np.nan
    session = onnxruntime.InferenceSession(model.to_onnx(dtype=np.float64))
    days = ((new["day"] - pandas.Timestamp(0)) / pandas.Timedelta(days=1)).to_numpy(float)
    feeds = {
        "size": new["size"].to_numpy(float),
        "colour": new["colour"].astype(object).where(new["colour"].notna(), "").to_numpy(object),
        "day": days,
        "wet": new["wet"].to_numpy(float, na_value=np.nan),
        "count": new["count"].to_numpy(float, na_value=np.nan),
        "meadow": new["meadow"].astype(object).to_numpy(object),
    }
    labels = session.run(["label"], {name: values[:, np.newaxis] for name, values in feeds.items()})[0]
    with pytest.warns(UserWarning, match="violet"):
        np.testing.assert_array_equal(labels.ravel(), model.predict(new))
    assert '"size"' in model.to_json()
    assert "m3svm_predict_row" in model.to_c()
    with pytest.raises(ValueError, match="column `size`"):
        M3SVMClassifier().fit(frame, np.arange(ROWS) % 3).to_liblinear()


def test_free_text_is_weighed_as_scikit_learn_weighs_it():
    from sklearn.feature_extraction.text import TfidfVectorizer

    said = [
        "The rose is red, the violet's blue.",
        "Sugar is sweet -- and so are you!",
        "red_rose RED Rose 2021 x",
        "Öl und Äpfel, naïve café; 山 水 山水",
        "and so is the sugar",
        "no-one",
    ] * 15
    frame = pandas.DataFrame({"said": said})
    model = M3SVMClassifier(preparation={"text": ["said"]}).fit(frame, KINDS)
    vectorizer = TfidfVectorizer()
    X = vectorizer.fit_transform(said)
    names = vectorizer.get_feature_names_out()
    assert model.prepared_feature_names_.tolist() == [f"said:{name}" for name in names]
    expected = M3SVMClassifier().fit(X, KINDS)
    np.testing.assert_allclose(model.decision_function(frame), expected.decision_function(X), rtol=1e-5, atol=1e-7)
    few = M3SVMClassifier(preparation={"text": ["said"], "most_words": 5}).fit(frame, KINDS)
    best = TfidfVectorizer(max_features=5).fit(said).get_feature_names_out()
    assert len(few.prepared_feature_names_) == len(best) == 5
    with pytest.raises(ValueError, match="ONNX cannot take texts apart.*column `said`; export it as json"):
        model.to_onnx()
    assert '"words"' in model.to_json()


def test_parts_of_times_are_those_of_pandas():
    frame = pandas.DataFrame({"at": pandas.date_range("1969-12-01", periods=ROWS, freq="397h")})
    parts = ["weekday", "month", "hour"]
    model = M3SVMClassifier(preparation={"time_parts": parts}, scale="none").fit(frame, KINDS)
    at = frame["at"].dt
    hot = [at.day_of_week.to_numpy()[:, None] == np.arange(7), at.month.to_numpy()[:, None] == np.arange(1, 13)]
    hot.append(at.hour.to_numpy()[:, None] == np.arange(24))
    days = ((frame["at"] - pandas.Timestamp(0)) / pandas.Timedelta(days=1)).to_numpy()
    X = np.hstack([days[:, None], *hot]).astype(float)
    expected = M3SVMClassifier().fit(X, KINDS)
    np.testing.assert_allclose(model.decision_function(frame), expected.decision_function(X), rtol=1e-4, atol=1e-5)
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(model.to_onnx(dtype=np.float64))
    new = pandas.DataFrame({"at": pandas.date_range("1899-01-01", periods=5000, freq="401h")})
    new.loc[::7, "at"] = pandas.NaT
    days = ((new["at"] - pandas.Timestamp(0)) / pandas.Timedelta(days=1)).to_numpy()
    scores = session.run(["scores"], {"at": days[:, None]})[0]
    np.testing.assert_allclose(scores, model.decision_function(new), rtol=1e-9, atol=1e-9)
