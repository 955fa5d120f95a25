"""What happens while a training runs, and when it ends early."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from m3svm import ISM3Classifier, M3SVMClassifier

# A training that takes far longer than anyone waits, and a signal after half a second.
_INTERRUPTED = """
    import os, signal, threading, time, warnings
    import numpy as np
    from m3svm import M3SVMClassifier

    random = np.random.RandomState(0)
    X, y = random.randn(4000, 200), random.randint(0, 10, 4000)
    model = M3SVMClassifier(solver="adam", max_iter=10**7, on_interrupt={policy!r})
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
        print("kept", hasattr(model, "coef_"), caught[0].message)
    except KeyboardInterrupt:
        print("raised", hasattr(model, "coef_"))
    assert time.monotonic() - started < 20
"""


@pytest.mark.parametrize(("policy", "expected"), [("raise", "raised False"), ("keep", "kept True")])
def test_an_interrupt_ends_the_training(policy, expected):
    script = textwrap.dedent(_INTERRUPTED.format(policy=policy))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(expected), done.stdout
    if policy == "keep":
        assert "(interrupted)" in done.stdout and "the best point so far was kept" in done.stdout


def test_an_interrupt_while_probabilities_are_estimated_costs_only_those(iris, monkeypatch):
    X, y = iris

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("m3svm._base.temperature_by_cross_validation", interrupted)
    with pytest.warns(ConvergenceWarning, match="the model was kept without them") as caught:
        model = M3SVMClassifier(probability=True, on_interrupt="keep").fit(X, y)
    assert caught[0].filename == __file__
    assert model.score(X, y) > 0.9 and not hasattr(model, "temperature_")
    model = M3SVMClassifier(probability=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_progress_on_a_terminal_stays_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    random = np.random.RandomState(0)
    with pytest.warns(ConvergenceWarning):
        ISM3Classifier(verbose=1, solver="adam", tol=1e-15, max_iter=300).fit(
            random.randn(5000, 100), random.randint(0, 9, 5000)
        )
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and said.count("\r[ISM3Classifier]") >= 2


def test_other_threads_run_during_a_training():
    random = np.random.RandomState(0)
    X, y = random.randn(5000, 100), random.randint(0, 9, 5000)
    training = threading.Thread(target=ISM3Classifier(solver="adam", tol=1e-15, max_iter=200).fit, args=(X, y))
    training.start()
    turns = 0
    while training.is_alive():
        turns += 1
        time.sleep(0.001)
    assert turns > 10


def test_not_converged_is_a_warning_with_the_gap_and_the_remedy(iris):
    X, y = iris
    with pytest.warns(ConvergenceWarning, match=r"iteration-limit\) after 2 iterations .* gap .*; raise max_iter"):
        model = M3SVMClassifier(max_iter=2).fit(X, y)
    assert model.dual_gap_ > model.tol
    with pytest.warns(ConvergenceWarning, match='try solver="newton"') as caught:
        M3SVMClassifier(solver="adam", max_iter=3).fit(X, y)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        M3SVMClassifier().fit(X, y)


def test_below_one_there_is_no_bound(iris):
    X, y = iris
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert np.isnan(M3SVMClassifier(p=0.5).fit(X, y).dual_gap_)


def test_progress_is_printed_on_demand(iris, capsys):
    X, y = iris
    M3SVMClassifier().fit(X, y)
    assert capsys.readouterr().out == ""
    M3SVMClassifier(verbose=1).fit(X, y)
    assert capsys.readouterr().out.startswith("[M3SVMClassifier] converged after")
    random = np.random.RandomState(0)
    with pytest.warns(ConvergenceWarning):
        ISM3Classifier(verbose=1, solver="adam", tol=1e-15, max_iter=300).fit(
            random.randn(5000, 100), random.randint(0, 9, 5000)
        )
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2 and all("objective" in line for line in lines)


def test_scores_that_are_not_finite_are_an_error_that_names_the_row(iris):
    X, y = iris
    model = M3SVMClassifier().fit(X, y)
    huge = X.copy()
    huge[3] = [1e308, -1e308, 1e308, -1e308]
    for say in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match="^row 4: a score is "):
            say(huge)


def test_an_optimum_at_the_origin_is_no_reason_to_warn(any_estimator, iris):
    X, y = iris
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert any_estimator(lam=1e100).fit(X, y).dual_gap_ <= 1e-8
