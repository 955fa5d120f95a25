"""The PyTorch losses: against definitions, finite differences and the core. They run where torch is installed."""

import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="LEFT OUT: torch is not installed")

from sklearn.datasets import load_iris
from torch import nn

import m3svm
import m3svm.torch as m3
from m3svm.torch import _penalty

POWERS = [1.0, 1.5, 2.0, 3.0, 4.0, 6.5, 8.0]


def weights(classes: int, features: int, seed: int = 0, dtype: Any = torch.float64) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(classes, features, generator=generator, dtype=torch.float64).to(dtype)


def by_definition(w: Any, p: float) -> Any:
    pairs = itertools.combinations(range(len(w)), 2)
    return sum((w[k] - w[m]).norm() ** p for k, m in pairs)


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("most", [0, _penalty.MOST_DIFFERENCES])
def test_penalty_is_what_its_definition_says(p: float, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_penalty, "MOST_DIFFERENCES", most)
    ours, theirs = weights(7, 5).requires_grad_(), weights(7, 5).requires_grad_()
    value, expected = m3.MinMarginPenalty(p)(ours), by_definition(theirs, p)
    (3.0 * value).backward()
    (3.0 * expected).backward()
    torch.testing.assert_close(value, expected, rtol=1e-12, atol=0.0)
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("p", POWERS)
def test_gradients_agree_with_finite_differences(p: float) -> None:
    assert torch.autograd.gradcheck(m3.MinMarginPenalty(p), weights(4, 3).requires_grad_())
    head = nn.Linear(3, 4).double()
    target = torch.tensor([0, 3, 1, 2, 2])
    x = weights(5, 3, seed=1)

    def loss(weight: Any, bias: Any, lam: float, epsilon: float) -> Any:
        head_now = nn.Linear(3, 4).double()
        del head_now.weight, head_now.bias
        head_now.weight, head_now.bias = weight, bias
        criterion = m3.ISM3Loss(head_now, lam=lam, p=p, epsilon=epsilon, label_smoothing=0.1)
        return criterion(nn.functional.linear(x, weight, bias), target)

    for lam, epsilon in [(0.3, 0.01), (0.3, 0.0), (0.0, 0.01)]:
        inputs = (head.weight.detach().requires_grad_(), head.bias.detach().requires_grad_(), lam, epsilon)
        assert torch.autograd.gradcheck(loss, inputs)


def test_second_derivatives_of_the_penalty_are_refused() -> None:
    w = weights(4, 3).requires_grad_()
    (slopes,) = torch.autograd.grad(m3.MinMarginPenalty(4)(w), w, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slopes.square().sum().backward()


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("most", [0, _penalty.MOST_DIFFERENCES])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_class_vectors_that_coincide_have_no_gradient(
    p: float, most: int, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_penalty, "MOST_DIFFERENCES", most)
    w = torch.ones(3, 4, dtype=dtype, requires_grad=True)
    value = m3.MinMarginPenalty(p)(w)
    value.backward()
    assert value.item() == 0.0
    assert torch.equal(w.grad, torch.zeros_like(w))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_low_precision_is_summed_in_single(dtype: Any) -> None:
    w = weights(10, 64, dtype=dtype).requires_grad_()
    value = m3.MinMarginPenalty(4)(w)
    value.backward()
    exact = w.detach().double().requires_grad_()
    m3.MinMarginPenalty(4)(exact).backward()
    assert value.dtype == torch.float32 and w.grad.dtype == dtype
    torch.testing.assert_close(value.double(), by_definition(exact.detach(), 4), rtol=1e-6, atol=0.0)
    torch.testing.assert_close(w.grad.double(), exact.grad, rtol=2.0 * torch.finfo(dtype).eps, atol=1e-2)


def test_autocast_does_not_lower_the_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    for most in (0, _penalty.MOST_DIFFERENCES):
        monkeypatch.setattr(_penalty, "MOST_DIFFERENCES", most)
        plain, cast = (weights(6, 8, dtype=torch.float32).requires_grad_() for _ in range(2))
        m3.MinMarginPenalty(4)(plain).backward()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            m3.MinMarginPenalty(4)(cast).backward()
        assert torch.equal(plain.grad, cast.grad)


@pytest.mark.parametrize(
    ("loss", "pair"),
    [
        (m3.SmoothHingeLoss(0.1), lambda t: ((1 + t) + ((1 + t) ** 2 + 0.01).sqrt()) / 2),
        (m3.SmoothHingeLoss(0.0), lambda t: (1 + t).clamp(min=0)),
        (m3.PairwiseLogisticLoss(), lambda t: (1 + t.exp()).log()),
    ],
)
def test_pairwise_losses_are_what_their_definitions_say(loss: Any, pair: Any) -> None:
    z, y = weights(9, 4).requires_grad_(), torch.tensor([0, 1, 2, 3, 3, 2, 1, 0, 2])
    expected = [sum(pair(z[i, k] - z[i, c]) for k in range(4) if k != c) for i, c in enumerate(y.tolist())]
    torch.testing.assert_close(loss(z, y), sum(expected) / 9)
    assert torch.autograd.gradcheck(lambda z: loss(z, y), z)
    for reduction in ("sum", "none"):
        loss.reduction = reduction
        total = loss(z, y)
        torch.testing.assert_close(total.sum(), sum(expected))
        assert total.shape == (() if reduction == "sum" else (9,))
    loss.reduction = "mean"
    loss.weight = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    weighted = sum(loss.weight[c] * e for e, c in zip(expected, y, strict=True)) / loss.weight[y].sum()
    torch.testing.assert_close(loss(z, y), weighted)
    loss.weight = None


def test_losses_of_far_scores_stay_finite() -> None:
    z = torch.tensor([[3e4, -3e4, 0.0], [-3e4, 3e4, 0.0]], requires_grad=True)
    for loss in (m3.SmoothHingeLoss(), m3.SmoothHingeLoss(0.0), m3.PairwiseLogisticLoss()):
        for y in (torch.tensor([0, 1]), torch.tensor([1, 0])):
            value = loss(z, y)
            (gradient,) = torch.autograd.grad(value, z)
            assert torch.isfinite(value) and torch.isfinite(gradient).all()


@pytest.mark.parametrize(
    ("estimator", "loss", "p"),
    [
        (m3svm.ISM3Classifier(lam=0.5, p=4), nn.CrossEntropyLoss(reduction="sum"), 4),
        (m3svm.ISM3Classifier(lam=0.5, p=1.5), nn.CrossEntropyLoss(reduction="sum"), 1.5),
        (m3svm.M3SVMClassifier(lam=0.5, p=3, delta=0.1), m3.SmoothHingeLoss(0.1, reduction="sum"), 3),
        (m3svm.PairwiseLogisticRegression(lam=0.5, p=2), m3.PairwiseLogisticLoss(reduction="sum"), 2),
    ],
)
def test_objective_is_that_of_the_core_and_has_no_slope_at_its_optimum(estimator: Any, loss: Any, p: float) -> None:
    x, y = load_iris(return_X_y=True)
    x = (x - x.mean(0)) / x.std(0)
    estimator.set_params(tol=1e-12).fit(x, y)
    head = m3.to_linear(estimator)
    value = loss(head(torch.from_numpy(x)), torch.from_numpy(y)) + m3.ISM3Loss(head, lam=0.5, p=p).regularizer()
    value.backward()
    assert value.item() == pytest.approx(estimator.objective_, rel=1e-9)
    assert head.weight.grad.abs().max() < 1e-3 and head.bias.grad.abs().max() < 1e-3
    np.testing.assert_allclose(head(torch.from_numpy(x)).detach(), estimator.decision_function(x), atol=1e-9)
    np.testing.assert_allclose(m3.margins(head.weight), np.asarray(estimator.margins_), rtol=1e-9)


def test_head_is_fitted_in_place() -> None:
    x, y = load_iris(return_X_y=True)
    for dtype in (torch.float32, torch.float64):
        head = nn.Linear(4, 3).to(dtype)
        fitted = m3.fit_head(head, torch.from_numpy(x).to(dtype), torch.from_numpy(y), sample_weight=np.ones(150))
        assert fitted.dual_gap_ <= 1e-8
        assert np.array_equal(head(torch.from_numpy(x).to(dtype)).argmax(1).numpy(), fitted.predict(x))


def test_unfit_heads_are_refused() -> None:
    x, y = load_iris(return_X_y=True)
    before = nn.Linear(4, 5)
    with pytest.raises(ValueError, match="every class from 0 to 4"):
        m3.fit_head(before, x, y)
    with pytest.raises(ValueError, match="no bias"):
        m3.fit_head(nn.Linear(4, 3, bias=False), x, y)
    m3.fit_head(nn.Linear(4, 3, bias=False), x, y, m3svm.M3SVMClassifier(fit_intercept=False))
    with pytest.raises(ValueError, match="one scorer per class"):
        m3.to_linear(m3svm.OneVsOneSVMClassifier().fit(x, y))


def test_two_classes_have_two_rows_in_a_layer() -> None:
    x, y = load_iris(return_X_y=True)
    estimator = m3svm.M3SVMClassifier().fit(x[50:], y[50:])
    layer = m3.to_linear(estimator)
    np.testing.assert_allclose(layer.weight.detach().numpy(), estimator.scorer_coef_, rtol=1e-6)
    np.testing.assert_allclose(layer.bias.detach().numpy(), estimator.scorer_intercept_, rtol=1e-6)
    one = m3svm.OneVsOneSVMClassifierCV(lams=[0.1, 1.0]).fit(x, y)
    with pytest.raises(ValueError, match="one scorer per class"):
        m3.to_linear(one)


@pytest.mark.parametrize("settings", [{"p": 0.5}, {"p": float("nan")}, {"lam": -1.0}, {"epsilon": float("inf")}])
def test_settings_out_of_range_are_refused(settings: dict[str, float]) -> None:
    (name,) = settings
    with pytest.raises(ValueError, match=f"{name} must be a finite number"):
        m3.ISM3Loss(nn.Linear(2, 3), **settings)


def test_other_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        m3.MinMarginPenalty()(torch.ones(3))
    with pytest.raises(ValueError, match="reduction"):
        m3.ISM3Loss(nn.Linear(2, 3), reduction="none")
    with pytest.raises(ValueError, match="reduction"):
        m3.SmoothHingeLoss(reduction="middle")
    with pytest.raises(ValueError, match="delta"):
        m3.SmoothHingeLoss(-1.0)


def test_losses_need_neither_scikit_learn_nor_compiled_code() -> None:
    script = """
import sys
sys.modules["m3svm._core"] = None
import m3svm.torch
assert "sklearn" not in sys.modules
print(m3svm.torch.ISM3Loss)
m3svm.M3SVMClassifier
"""
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert "ISM3Loss" in done.stdout, done.stderr
    assert done.stderr.splitlines()[-1].startswith("ModuleNotFoundError") and "m3svm._core" in done.stderr
    assert set(dir(m3)) == set(m3.__all__) and all(getattr(m3, name) for name in m3.__all__)


def test_head_stays_a_part_of_the_network_alone() -> None:
    criterion = m3.ISM3Loss(nn.Linear(2, 3))
    assert list(criterion.parameters()) == [] and "lam=0.0001, p=4" in repr(criterion)


def test_penalty_lifts_the_smallest_margin_of_a_trained_network() -> None:
    x, y = (torch.from_numpy(a) for a in load_iris(return_X_y=True))
    x = ((x - x.mean(0)) / x.std(0)).float()
    smallest = []
    for lam in (0.0, 1e-2):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
        criterion = m3.ISM3Loss(net[2], lam=lam)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
        for _ in range(100):
            optimizer.zero_grad()
            criterion(net(x), y).backward()
            optimizer.step()
        assert (net(x).argmax(1) == y).float().mean() > 0.95
        smallest.append(m3.margins(net[2].weight).min())
    assert smallest[1] > 1.5 * smallest[0]


# "aot_eager" traces the graph without a compiler for C++, which not every machine has.
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_loss_is_the_same(backend: str) -> None:
    if backend == "inductor" and shutil.which("c++") is None:
        pytest.skip("LEFT OUT: there is no compiler for C++")
    head, y = nn.Linear(8, 5), torch.tensor([0, 1, 2, 3, 4, 0])
    x = weights(6, 8, dtype=torch.float32)
    criterion = m3.ISM3Loss(head, lam=0.1)

    def step() -> Any:
        return criterion(head(x), y)

    results = []
    for run in (step, torch.compile(step, backend=backend, fullgraph=True)):
        head.zero_grad()
        value = run()
        value.backward()
        results.append((value.detach(), head.weight.grad.clone()))
    torch.testing.assert_close(results[0], results[1])


def test_processes_that_share_the_work_get_the_gradient_of_all(tmp_path: Any) -> None:
    distributed = pytest.importorskip("torch.distributed")
    if not distributed.is_available() or not distributed.is_gloo_available():
        pytest.skip("LEFT OUT: torch was built without gloo")
    torch.manual_seed(0)
    x, y = weights(8, 4, dtype=torch.float32), torch.arange(8) % 3
    head = nn.Linear(4, 3)
    m3.ISM3Loss(head, lam=0.1)(head(x), y).backward()
    expected, state = head.weight.grad.clone(), head.state_dict()
    context = torch.multiprocessing.get_context("spawn")
    results = context.Queue()
    arguments = [(rank, str(tmp_path / "meet"), state, x, y, results) for rank in range(2)]
    workers = [context.Process(target=_train_in_parallel, args=a) for a in arguments]
    for worker in workers:
        worker.start()
    found = [results.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    for gradient in found:
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)


def _train_in_parallel(rank: int, meet: str, state: Any, x: Any, y: Any, results: Any) -> None:
    import torch.distributed

    # Other interfaces may lead nowhere.
    os.environ["GLOO_SOCKET_IFNAME"] = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    torch.distributed.init_process_group("gloo", init_method=f"file://{meet}", rank=rank, world_size=2)
    net = nn.Linear(4, 3)
    net.load_state_dict(state)
    shared = nn.parallel.DistributedDataParallel(net)
    m3.ISM3Loss(net, lam=0.1)(shared(x[rank::2]), y[rank::2]).backward()
    results.put(net.weight.grad.numpy())
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def test_threads_may_share_a_loss() -> None:
    w = weights(5, 6).requires_grad_()
    penalty, values = m3.MinMarginPenalty(3), []
    threads = [threading.Thread(target=lambda: values.append(penalty(w).item())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(values)) == 1


def test_the_comparison_of_losses_trains_what_is_published(tmp_path: Path) -> None:
    """`m3svm-deep` draws from the journals of the script; its own test has the same journal."""
    folder = Path(__file__).parents[2] / "experiments" / "deep"
    draw = np.random.default_rng(0)
    for part in ("train", "test"):
        y = np.arange(40) % 2
        x = (100 * y[:, None, None, None] + draw.integers(0, 100, (40, 1, 32, 32))).astype(np.uint8)
        np.savez(tmp_path / f"tiny-{part}.npz", x=x, y=y)
    options = ["--epochs", "1", "--batch", "8", "--lambdas", "1e-3", "--decays", "1", "--smoothings", "0.1"]
    command = [sys.executable, folder / "compare.py", tmp_path, "--out", tmp_path / "out", *options]
    subprocess.run(command, check=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})

    def trainings(journal: Path) -> set[str]:
        runs = [json.loads(line) for line in journal.read_text().splitlines()]
        # What this test makes smaller.
        return {json.dumps([{**r["settings"], "epochs": 0, "batch": 0}, r["seed"]], sort_keys=True) for r in runs}

    assert trainings(tmp_path / "out" / "runs.jsonl") == trainings(folder / "svhn-burn" / "runs.jsonl")
