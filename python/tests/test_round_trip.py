"""One model of a mixed table, said by everything that can say it: the program, ONNX, C, JSON by the book, and Python."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import m3svm
from m3svm import M3SVMClassifier

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

COLOURS = ["red", "white", "blue", 'sea "green"', "grey\\", "violet"]


def _table(rows, seed, colours):
    random = np.random.default_rng(seed)
    kind = random.integers(0, 3, rows)
    gaps = random.random((rows, 5)) < 0.15
    size = 10 + 3 * kind + random.standard_normal(rows)
    frame = pandas.DataFrame(
        {
            "size": np.where(gaps[:, 0], np.nan, size),
            "count": pandas.array(np.where(gaps[:, 1], None, random.integers(0, 9, rows)), dtype="Int64"),
            "colour": np.where(gaps[:, 2], None, random.choice(colours, rows)),
            "wet": pandas.array(np.where(gaps[:, 3], None, random.random(rows) < 0.3 * kind), dtype="boolean"),
            "day": pandas.to_datetime("2020-01-01") + pandas.to_timedelta(random.integers(0, 800, rows), unit="D"),
        }
    )
    frame.loc[gaps[:, 4], "day"] = pandas.NaT
    return frame, np.array(["bell", "crown", "star"])[kind]


GAMMA = 0.1


@pytest.fixture(scope="module", params=[{}, {"kernel": "rbf", "gamma": GAMMA}], ids=["linear", "rbf"])
def trained(request):
    frame, labels = _table(300, 1, COLOURS[:5])
    preparation = {"time_parts": ["weekday", "month"], "most_values": 3}
    return M3SVMClassifier(lam=0.1, preparation=preparation, **request.param).fit(frame, labels)


@pytest.fixture(scope="module")
def new():
    """Rows with gaps, with texts that were never seen, and with days long before and after."""
    frame, _ = _table(400, 2, COLOURS)
    frame.loc[:20, "day"] = pandas.date_range("1815-02-27", periods=21, freq="2999D")
    return frame


@pytest.fixture(scope="module")
def expected(trained, new):
    with pytest.warns(UserWarning, match="column `colour`: [0-9]+ cells have values .*such as `violet`"):
        return trained.predict(new)


def _days(frame):
    return ((frame["day"] - pandas.Timestamp(0)) / pandas.Timedelta(days=1)).to_numpy(float)


def _columns(frame):
    return {
        "size": frame["size"].to_numpy(float),
        "count": frame["count"].to_numpy(float, na_value=np.nan),
        "colour": frame["colour"].astype(object).where(frame["colour"].notna(), "").to_numpy(object),
        "wet": frame["wet"].to_numpy(float, na_value=np.nan),
        "day": _days(frame),
    }


@pytest.mark.parametrize("extension", ["parquet", "csv", "jsonl", "feather"])
def test_the_program_says_the_same(trained, new, expected, program, tmp_path, extension):
    model, data = tmp_path / "model.m3svm", tmp_path / f"new.{extension}"
    trained.save(model)
    if extension == "csv":
        new.to_csv(data, index=False)
    elif extension == "jsonl":
        new.assign(day=new["day"].dt.strftime("%Y-%m-%d")).to_json(data, orient="records", lines=True)
    else:
        getattr(new, f"to_{extension}")(data)
    done = program("predict", model, data)
    assert done.stdout.split()[1:] == expected.tolist()
    assert "violet" in done.stderr


def test_onnx_says_the_same(trained, new, expected):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(trained.to_onnx(dtype=np.float64))
    feeds = {name: values[:, np.newaxis] for name, values in _columns(new).items()}
    np.testing.assert_array_equal(session.run(["label"], feeds)[0].ravel(), expected)


def test_c_says_the_same(trained, new, expected, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    number = {
        name: ["NAN" if np.isnan(v) else repr(float(v)) for v in values]
        for name, values in _columns(new).items()
        if name != "colour"
    }
    colour = [json.dumps(text) if text else "0" for text in _columns(new)["colour"]]
    rows = [
        f"{{ {{ {number['size'][i]}, 0 }}, {{ {number['count'][i]}, 0 }}, {{ 0, {colour[i]} }}, {{ {number['wet'][i]}, 0 }}, "
        f"{{ {number['day'][i]}, 0 }} }},\n"
        for i in range(len(new))
    ]
    (tmp_path / "model.c").write_text(trained.to_c())
    (tmp_path / "main.c").write_text(
        "#include <math.h>\n#include <stdio.h>\ntypedef struct { double number; const char *text; } cell;\n"
        "int m3svm_predict_row(const cell *row);\nextern const char *const m3svm_classes[3];\n"
        f"static const cell rows[][5] = {{\n{''.join(rows)}}};\n"
        f"int main(void) {{ for (int i = 0; i < {len(new)}; i++) puts(m3svm_classes[m3svm_predict_row(rows[i])]); return 0; }}\n"
    )
    strict = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", tmp_path / "run"]
    subprocess.run([*strict, tmp_path / "main.c", tmp_path / "model.c", "-lm"], check=True)
    found = subprocess.run([tmp_path / "run"], capture_output=True, text=True, check=True).stdout.split()
    assert found == expected.tolist()


def test_json_says_the_same_by_the_book(trained, new, expected):
    document = json.loads(trained.to_json())
    columns = _columns(new)
    parts = {"weekday": new["day"].dt.day_of_week, "month": new["day"].dt.month - 1}
    widths = {"weekday": 7, "month": 12}
    features = []
    for column in document["preprocessor"]["columns"]:
        values = columns[column["name"]]
        ((kind, rule),) = column["encoding"].items()
        if kind == "number":
            missing = np.isnan(values)
            features.append(np.where(missing, rule["fill"], values) - rule["shift"])
            for part in rule.get("parts", []):
                features.extend((parts[part] == value).to_numpy() for value in range(widths[part]))
        else:
            missing = values == ""
            fill = rule["values"][rule["fill"]]
            filled = np.where(missing, fill, values)
            features.extend(filled == value for value in rule["values"])
            if rule.get("others"):
                features.append(np.isin(filled, rule["others"]))
        if rule["indicator"]:
            features.append(missing)
    x = np.column_stack(features).astype(float)
    if "rows" in document:
        x = (x - np.array(document["shift"])) * np.array(document["factor"])
        values = rbf_kernel(x, document["rows"], gamma=GAMMA)
        scores = values @ np.array(document["coefficients"]) + document["intercept"]
    else:
        scores = x @ np.array(document["weights"]).T + document["intercept"]
    assert [document["classes"][k] for k in scores.argmax(axis=1)] == expected.tolist()


def test_python_says_the_same_after_all_journeys(trained, new, expected, tmp_path):
    trained.save(tmp_path / "model.m3svm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        loaded = m3svm.load(tmp_path / "model.m3svm")
        np.testing.assert_array_equal(loaded.predict(new), expected)
        polars = pytest.importorskip("polars")
        np.testing.assert_array_equal(trained.predict(polars.from_pandas(new)), expected)
        np.testing.assert_array_equal(trained.predict(new.astype(object)), expected)
