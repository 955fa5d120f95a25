"""The memory budget: what is above it is refused, and not tried."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import m3svm


@pytest.fixture(autouse=True)
def default_budget() -> Iterator[None]:
    yield
    m3svm.set_memory_budget(None)


def test_a_fit_above_the_budget_is_a_memory_error():
    X, y = np.ones((4, 3000)), [0, 1, 2, 3]
    X[0] = 0
    m3svm.set_memory_budget("1MB")
    with pytest.raises(MemoryError, match=r"needs about .*, and the memory budget is 1 MB \(m3svm.set_memory_budget\)"):
        m3svm.MultinomialLogisticRegression().fit(X, y)
    m3svm.set_memory_budget(1 << 30)
    m3svm.MultinomialLogisticRegression().fit(X, y)


def test_the_budget_is_read_and_set():
    before = m3svm.memory_budget()
    assert before > 0
    m3svm.set_memory_budget("1.5GiB")
    assert m3svm.memory_budget() == 3 << 29
    m3svm.set_memory_budget(12345)
    assert m3svm.memory_budget() == 12345
    for wrong in ["much", -1, 1.5e300]:
        with pytest.raises(ValueError, match="must be a number of bytes such as 2GB"):
            m3svm.set_memory_budget(wrong)  # type: ignore[arg-type]
