"""Parameters of estimators, and of the classes that users derive from them."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, get_type_hints

import numpy as np
import pytest
from sklearn.base import clone

import m3svm
from m3svm import M3SVMClassifier, plots
from m3svm._model_file import ESTIMATORS


class Stronger(M3SVMClassifier):
    """With an initialiser of its own, as scikit-learn knows it."""

    def __init__(self, lam=5.0, extra="none"):
        super().__init__(lam=lam)
        self.extra = extra


class Below(Stronger):
    """Has the initialiser of the class above."""


class Counting:
    """A class beside, with an initialiser that passes everything on."""

    def __init__(self, **given):
        self.made = True
        super().__init__(**given)


class Both(Counting, M3SVMClassifier):
    pass


class OtherDefaults(M3SVMClassifier):
    lam = 5.0
    note: ClassVar[str] = "no parameter"
    seen: list
    weight: float = 2.0


OtherDefaults.__annotations__["spelt"] = ClassVar[int]


def test_a_subclass_keeps_its_own_initialiser(iris):
    X, y = iris
    for cls in (Stronger, Below):
        assert cls().lam == 5.0
        assert cls(7.0, extra="some").get_params() == {"lam": 7.0, "extra": "some"}
        copied = clone(cls(lam=2.0, extra="some"))
        assert (copied.lam, copied.extra, copied.p) == (2.0, "some", 4.0)
        np.testing.assert_array_equal(cls().fit(X, y).coef_, M3SVMClassifier(lam=5.0).fit(X, y).coef_)
    both = Both(lam=3.0)
    assert both.made and both.lam == 3.0


def test_a_subclass_may_declare_other_defaults_and_more_parameters():
    model = OtherDefaults()
    assert (model.lam, model.weight, OtherDefaults(lam=1.0).lam) == (5.0, 2.0, 1.0)
    assert set(model.get_params()) == set(M3SVMClassifier().get_params()) | {"weight"}
    assert inspect.signature(OtherDefaults).parameters["lam"].default == 5.0
    with pytest.raises(TypeError, match="unexpected keyword argument 'note'"):
        OtherDefaults(note="")


def test_annotations_can_be_looked_up():
    shown = [getattr(plots, name) for name in plots.__all__]
    for cls in (*(getattr(m3svm, e.__name__) for e in ESTIMATORS), m3svm.M3SVMClassifierCV, *shown):
        for name, method in inspect.getmembers(cls, inspect.isroutine):
            if not name.startswith("_") and method.__module__.startswith("m3svm"):
                assert "return" in get_type_hints(method), name
    assert get_type_hints(m3svm.load)["return"] is not Any
