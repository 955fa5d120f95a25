"""The types that the stub of the extension module promises are those that come out; what made it does not know all of them (typed.rs)."""

from __future__ import annotations

import ast
import types
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np
import pyarrow as pa
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
        "Frame": _core.Frame,
        "GatheredRows": _core.GatheredRows,
        "Model": _core.Model,
        "PreparedFrame": _core.PreparedFrame,
        "RowPart": _core.RowPart,
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
        return (
            isinstance(value, tuple)
            and len(value) == len(inner)
            and all(fits(*each) for each in zip(value, inner, strict=True))
        )
    raise AssertionError(f"{hint} is new here")


@pytest.fixture(scope="module")
def model():
    """One that knows everything: names of features, a trace, probabilities."""
    return _core.fit(X, Y, NAMES, {"method": "ism3"}, feature_names=list("wxyz"))[0]


class Carrier:
    """All rows as one part, which answers at once."""

    def __init__(self) -> None:
        self.part, self.messages = _core.RowPart(), []
        self.answers: list[bytes] = []

    def send(self, parts: list[int], message: bytes) -> None:
        self.messages.append(message)
        self.answers = [self.part.answer(X, Y, message) for _ in parts]

    def receive(self, seconds: float) -> list[bytes]:
        return self.answers

    def cancel(self) -> None:
        self.answers = []


def fit_parts(carrier: Carrier) -> _core.Model:
    return _core.fit_parts(carrier, [_core.describe_part(X)], ["0", "1"], [2.0, 2.0], {"method": "ism3"})


def answered() -> bytes:
    carrier = Carrier()
    fit_parts(carrier)
    return _core.RowPart().answer(X, Y, carrier.messages[0])


def gathered() -> _core.GatheredRows:
    rows = _core.GatheredRows()
    rows.push(X, Y, NAMES)
    return rows


def finished() -> _core.GatheredRows:
    rows = gathered()
    rows.pass_ended()
    rows.finish(text_labels=False)
    return rows


def frame() -> _core.Frame:
    return _core.Frame.from_columns([column.copy() for column in X.T], 4, list("wxyz"))


def stream() -> bytes:
    table, sink = pa.table({"w": [1.0, 2.0]}), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


# How functions and methods are called; properties are looked up.
CALLS = {
    "fit": lambda _: _core.fit(X, Y, NAMES, M3SVM),
    "described": lambda model: model.described("text"),
    "fit_batch": lambda _: _core.fit_batch(X, Y, NAMES, M3SVM),
    "check_passing": lambda _: _core.check_passing(M3SVM),
    "further": lambda _: _core.further([(0.1, 2.0, [0.5]), (1.0, 2.0, [0.9])]),
    "GatheredRows.__new__": lambda _: _core.GatheredRows(),
    "GatheredRows.push": lambda _: gathered().push(X, Y, NAMES),
    "GatheredRows.pass_ended": lambda _: gathered().pass_ended(),
    "GatheredRows.finish": lambda _: gathered().finish(text_labels=False),
    "GatheredRows.fit": lambda _: finished().fit(M3SVM),
    "search": lambda _: _core.search(X, Y, NAMES, M3SVM, ROWS, lams=[0.1], ps=[2.0]),
    "grid": lambda _: _core.grid(M3SVM),
    "choose": lambda _: _core.choose([(0.1, None, [0.5])], "best-mean"),
    "fit_temperature": lambda _: _core.fit_temperature(X[:, :2].copy(), Y),
    "default_settings": lambda _: _core.default_settings("m3svm"),
    "methods": lambda _: _core.methods(),
    "memory_budget": lambda _: _core.memory_budget(),
    "set_memory_budget": lambda _: _core.set_memory_budget(None),
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
    "prepare": lambda model: model.prepare(frame(), [0.0] * 4),
    "describe_part": lambda _: _core.describe_part(X),
    "fit_parts": lambda _: fit_parts(Carrier()),
    "RowPart.__new__": lambda _: _core.RowPart(),
    "RowPart.answer": lambda _: answered(),
    "Frame.__getitem__": lambda _: frame()[np.array([2, 0])],
    "Frame.__len__": lambda _: len(frame()),
    "Frame.for_training": lambda _: frame().for_training({}),
    "Frame.from_arrow": lambda _: _core.Frame.from_arrow(stream()),
    "Frame.from_columns": lambda _: frame(),
    "Frame.keys": lambda _: frame().keys(),
    "Frame.select": lambda _: frame().select(["x", "w"]),
}
# Of other classes than models the properties are looked up in these.
OTHERS = {
    "Frame": lambda _: frame(),
    "GatheredRows": lambda _: finished(),
    "PreparedFrame": lambda model: model.prepare(frame(), [0.0] * 4)[0],
}


def functions() -> dict[str, ast.FunctionDef]:
    """All there are: those of models and of the module by their names, the others with the name of their class."""
    found = {}
    for node in STUB.body:
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, ast.FunctionDef):
                other = f"{node.name}." if isinstance(node, ast.ClassDef) and node.name != "Model" else ""
                found[other + inner.name] = inner
    return found


FUNCTIONS = functions()


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"save", "load"}))
def test_results_are_of_the_promised_types(name, model):
    node = FUNCTIONS[name]
    if any(ast.unparse(decorator) == "property" for decorator in node.decorator_list):
        kind, _, field = name.rpartition(".")
        value = getattr(OTHERS[kind](model) if kind else model, field)
    else:
        value = CALLS[name](model)
    assert fits(value, promised(node)), (name, value)


def test_files_are_of_the_promised_types(model, tmp_path):
    assert fits(model.save(tmp_path / "m"), promised(FUNCTIONS["save"]))
    assert fits(_core.Model.load(tmp_path / "m"), promised(FUNCTIONS["load"]))


def test_another_type_would_be_noticed(model):
    assert not fits(model.coef, NDArray[np.float32])
    assert not fits(model.n_features, float)
    assert not fits(model.classes, list[int])
    assert not fits(None, int | str)
