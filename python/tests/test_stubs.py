"""The types that the stub of the extension module promises are those that come out; what made it does not know all of them (typed.rs)."""

from __future__ import annotations

import ast
import types
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np
import pytest
from numpy.typing import NDArray

from m3svm import _core
from m3svm._settings import Settings

STUB = ast.parse((Path(_core.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
X, Y, NAMES = np.eye(4), np.arange(4, dtype=np.uint32) % 2, ["a", "b"]
ROWS = [(np.array([0, 1], dtype=np.uint32), np.array([2, 3], dtype=np.uint32))]
M3SVM: Settings = {"method": "m3svm"}


def promised(node: ast.FunctionDef) -> Any:
    """What a function of the stub says that it returns."""
    assert node.returns is not None
    known = {
        "Any": Any,
        "float64": np.float64,
        "uint32": np.uint32,
        "NDArray": NDArray,
        "Settings": Settings,
        "Model": _core.Model,
    }
    return eval(ast.unparse(node.returns), known)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type."""
    if hint is Any:
        return True
    origin, inner = get_origin(hint), get_args(hint)
    if hint is None or isinstance(hint, type) and origin is None:
        # Settings are a dictionary with known keys.
        return value is None if hint is None else isinstance(value, dict if hint is Settings else hint)
    if origin is types.UnionType:
        return any(fits(value, each) for each in inner)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype == get_args(inner[1])[0]
    if origin is list:
        return isinstance(value, list) and all(fits(each, inner[0]) for each in value)
    if origin is tuple:
        return len(value) == len(inner) and all(fits(*each) for each in zip(value, inner, strict=True))
    raise AssertionError(f"{hint} is new here")


@pytest.fixture(scope="module")
def model():
    """One that knows everything: names of features, a trace, probabilities."""
    return _core.fit(X, Y, NAMES, {"method": "ism3"}, feature_names=list("wxyz"))[0]


# How functions and methods are called; properties are looked up.
CALLS = {
    "fit": lambda _: _core.fit(X, Y, NAMES, M3SVM),
    "fit_batch": lambda _: _core.fit_batch(X, Y, NAMES, M3SVM),
    "search": lambda _: _core.search(X, Y, NAMES, M3SVM, ROWS, lams=[0.1], ps=[2.0]),
    "fit_temperature": lambda _: _core.fit_temperature(X[:, :2].copy(), Y),
    "default_settings": lambda _: _core.default_settings("m3svm"),
    "methods": lambda _: _core.methods(),
    "scores": lambda model: model.scores(X),
    "raw_scores": lambda model: model.raw_scores(X),
    "probabilities": lambda model: model.probabilities(X),
    "predict": lambda model: model.predict(X),
    "export": lambda model: model.export("c"),
    "to_bytes": lambda model: model.to_bytes(),
    "__eq__": lambda model: model == _core.Model.from_bytes(model.to_bytes()),
    "__reduce__": lambda model: model.__reduce__(),
    "__repr__": lambda model: repr(model),
    "from_bytes": lambda model: _core.Model.from_bytes(model.to_bytes()),
}
FUNCTIONS = {node.name: node for node in ast.walk(STUB) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"save", "load"}))
def test_results_are_of_the_promised_types(name, model):
    node = FUNCTIONS[name]
    is_property = any(ast.unparse(decorator) == "property" for decorator in node.decorator_list)
    value = getattr(model, name) if is_property else CALLS[name](model)
    assert fits(value, promised(node)), (name, value)


def test_files_are_of_the_promised_types(model, tmp_path):
    assert fits(model.save(tmp_path / "m"), promised(FUNCTIONS["save"]))
    assert fits(_core.Model.load(tmp_path / "m"), promised(FUNCTIONS["load"]))


def test_another_type_would_be_noticed(model):
    assert not fits(model.coef, NDArray[np.float32])
    assert not fits(model.n_features, float)
    assert not fits(model.classes, list[int])
    assert not fits(None, int | str)
