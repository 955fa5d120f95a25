"""The loss in one kernel against the general one in double precision.

They need CUDA, or TRITON_INTERPRET=1, with which Triton runs the kernel on the CPU.
"""

import subprocess
import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="LEFT OUT: torch is not installed")
pytest.importorskip("triton", reason="LEFT OUT: triton is not installed")

from torch import nn

import m3svm.torch as m3
from m3svm.torch import _fused

if not (torch.cuda.is_available() or _fused.INTERPRETED):
    pytest.skip("LEFT OUT: there is no CUDA device", allow_module_level=True)

DEVICE = "cpu" if _fused.INTERPRETED else "cuda"
CLOSE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 1e-2, torch.float16: 2e-3}


def problem(batch: int = 70, classes: int = 5, features: int = 7, seed: int = 0, bias: bool = True) -> Any:
    """A head, logits and targets, in double precision."""
    torch.manual_seed(seed)
    head = nn.Linear(features, classes, bias=bias, dtype=torch.float64, device=DEVICE)
    logits = 3.0 * torch.randn(batch, classes, dtype=torch.float64, device=DEVICE)
    return head, logits, torch.randint(classes, (batch,), device=DEVICE)


def fused(criterion: Any, logits: Any, target: Any) -> Any:
    """The loss in one kernel and in no other way."""
    (head,) = criterion._head
    return _fused.fused_loss(logits, target, head, criterion.entropy, criterion.lam, criterion.p, criterion.epsilon)


def outcome(loss: Any, logits: Any, head: Any, factor: float = 1.0) -> list[Any]:
    """The value and its gradients; those that nobody asked for are 0."""
    inputs = [logits, *head.parameters()]
    gradients = torch.autograd.grad(factor * loss, inputs, allow_unused=True)
    return [loss.detach(), *(torch.zeros_like(x) if g is None else g for x, g in zip(inputs, gradients, strict=True))]


def agree(head: Any, logits: Any, target: Any, kinds: tuple[Any, Any], **settings: Any) -> None:
    """Compares value and gradients, with logits and head in the types of `kinds`."""
    z, head = logits.to(kinds[0]).requires_grad_(), head.to(kinds[1])
    loss = fused(m3.ISM3Loss(head, **settings), z, target)
    assert loss is not None
    assert loss.dtype == (torch.float64 if torch.float64 in kinds else torch.float32)
    found = outcome(loss, z, head, 3.0)
    exact_z = z.detach().double().requires_grad_()
    types = [loss.dtype, kinds[0], *(kinds[1] for _ in head.parameters())]
    # Converting a module converts it in place; numbers stay what they were rounded to.
    head = head.double()
    expected = outcome(m3.ISM3Loss(head, fused=False, **settings)(exact_z, target), exact_z, head, 3.0)
    for mine, theirs, kind in zip(found, expected, types, strict=True):
        assert mine.dtype == kind
        scale = theirs[torch.isfinite(theirs)].abs().max().item() if torch.isfinite(theirs).any() else 1.0
        close = max(CLOSE[kind], CLOSE[loss.dtype])
        torch.testing.assert_close(mine.double(), theirs, rtol=close, atol=close * scale, equal_nan=True)


BOTH = [(torch.float64, torch.float64), (torch.float32, torch.float32)]


@pytest.mark.parametrize("kinds", BOTH)
@pytest.mark.parametrize("p", [1.0, 1.3, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 6.5, 7.0, 8.0])
def test_every_power(p: float, kinds: Any) -> None:
    agree(*problem(), kinds, p=p, lam=0.3, epsilon=0.02)


@pytest.mark.parametrize("kinds", BOTH)
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("ignore_index", [-100, 2, 700])
def test_every_setting_of_the_cross_entropy(
    kinds: Any, reduction: str, label_smoothing: float, ignore_index: int
) -> None:
    head, z, y = problem()
    y[::3] = ignore_index
    agree(
        *(head, z, y, kinds),
        lam=0.3,
        reduction=reduction,
        label_smoothing=label_smoothing,
        ignore_index=ignore_index,
    )


@pytest.mark.parametrize("kinds", BOTH)
@pytest.mark.parametrize(
    ("batch", "classes", "features"),
    [
        (1, 1, 1),
        (1, 2, 3),
        (64, 16, 64),
        (65, 17, 65),
        (1025, 2, 1),
        (33, 3, 1500),
        (9, 2, 4096),
        (40, 100, 5),
        (3, 256, 2),
        # More programs than parts of the value are added at a time.
        (520, 256, 2),
    ],
)
def test_every_shape(batch: int, classes: int, features: int, kinds: Any) -> None:
    agree(*problem(batch, classes, features), kinds, lam=0.1, epsilon=0.02)


@pytest.mark.parametrize("kinds", BOTH)
@pytest.mark.parametrize("lam", [0.0, 0.7])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("bias", [False, True])
def test_terms_may_be_missing(kinds: Any, lam: float, epsilon: float, bias: bool) -> None:
    agree(*problem(bias=bias), kinds, lam=lam, epsilon=epsilon)


@pytest.mark.parametrize("logits", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("head", [torch.float32, torch.float16, torch.bfloat16])
def test_types_may_differ(logits: Any, head: Any) -> None:
    agree(*problem(), (logits, head), lam=0.3, epsilon=0.02, label_smoothing=0.1)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_batch_of_ignored_rows(reduction: str) -> None:
    head, z, y = problem()
    z.requires_grad_()
    criterion = m3.ISM3Loss(head, reduction=reduction)
    loss = fused(criterion, z, y.fill_(-100))
    general = criterion.entropy(z, y) + criterion.regularizer()
    torch.testing.assert_close(loss, general, equal_nan=True)
    (gradient,) = torch.autograd.grad(loss, z)
    assert torch.equal(gradient, torch.zeros_like(z))


def test_logits_may_be_minus_infinity_and_far_apart() -> None:
    head, z, y = problem()
    z[torch.arange(70), (y + 1) % 5] = -float("inf")
    z[:9] *= 1e4
    for kinds in BOTH:
        agree(head, z, y, kinds)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 2.5, 3.0, 4.0])
@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.float16])
def test_class_vectors_that_coincide_have_no_gradient(p: float, kind: Any) -> None:
    head, z, y = problem()
    with torch.no_grad():
        head.weight.fill_(0.3)
    head = head.to(kind)
    loss = fused(m3.ISM3Loss(head, lam=1.0, p=p, epsilon=0.0), z, y)
    (gradient,) = torch.autograd.grad(loss, head.weight)
    assert torch.equal(gradient, torch.zeros_like(gradient))
    torch.testing.assert_close(loss, nn.functional.cross_entropy(z, y))


def test_gradients_agree_with_finite_differences() -> None:
    head, z, y = problem(4, 3, 2)
    criterion = m3.ISM3Loss(head, lam=0.3, p=3.0, epsilon=0.1, label_smoothing=0.1)

    def loss(z: Any, *_: Any) -> Any:
        return fused(criterion, z, y)

    # Parameters are changed in place, where the loss finds them.
    assert torch.autograd.gradcheck(loss, (z.requires_grad_(), head.weight, head.bias))


def test_scaled_gradients_keep_what_half_precision_cannot_hold() -> None:
    head, z, y = problem(128)
    z[:, 0], y[:] = 16.0, 0
    half = z.half().requires_grad_()
    exact = half.detach().double().requires_grad_()
    (found,) = torch.autograd.grad(2.0**16 * fused(m3.ISM3Loss(head.float()), half, y), half)
    (expected,) = torch.autograd.grad(2.0**16 * nn.functional.cross_entropy(exact, y), exact)
    # Of the own class 1 is subtracted in single precision, which leaves no digits here, as in torch.
    found, expected = found[:, 1:].double(), expected[:, 1:]
    assert (expected / 2.0**16).half().eq(0.0).any(), "the scale is needed"
    torch.testing.assert_close(found, expected, rtol=2e-3, atol=2.0**-25)


def test_graph_may_be_kept_and_run_again() -> None:
    head, z, y = problem()
    loss = fused(m3.ISM3Loss(head, lam=0.3), z.requires_grad_(), y)
    inputs = (z, head.weight, head.bias)
    first = [g.clone() for g in torch.autograd.grad(5.0 * loss, inputs, retain_graph=True)]
    assert all(map(torch.equal, first, torch.autograd.grad(5.0 * loss, inputs)))


def test_same_input_has_the_same_bits() -> None:
    head, z, y = problem(300, 10, 64)
    head, z = head.float(), z.float().requires_grad_()
    results = [outcome(fused(m3.ISM3Loss(head, p=3.0), z, y), z, head) for _ in range(3)]
    assert all(torch.equal(a, b) for again in results[1:] for a, b in zip(results[0], again, strict=True))


def test_strengths_batches_and_places_in_memory_may_change() -> None:
    head, _, _ = problem()
    criterion = m3.ISM3Loss(head.float(), fused=True)
    for step, batch in enumerate([16, 70, 1, 70, 16]):
        _, z, y = problem(batch, seed=step)
        criterion.lam, criterion.epsilon = 0.1 * (step + 1), 0.01 * (step + 1)
        # One step further in a larger tensor, no address is a multiple of 16 bytes.
        moved = torch.empty(z.numel() + 1, device=DEVICE)[1:].view(z.shape).copy_(z)
        moved_y = torch.empty(batch + 1, dtype=torch.int64, device=DEVICE)[1:].copy_(y)
        general = criterion.entropy(moved, moved_y) + criterion.regularizer()
        for logits, target in ((z.float(), y), (moved, moved_y)):
            torch.testing.assert_close(fused(criterion, logits, target), general)


def test_without_gradients_there_is_the_value() -> None:
    head, z, y = problem()
    for without in (torch.no_grad, torch.inference_mode):
        with without():
            loss = m3.ISM3Loss(head)(z, y)
        assert not loss.requires_grad
        torch.testing.assert_close(loss.clone(), m3.ISM3Loss(head, fused=False)(z, y).detach())


def test_second_derivatives_are_refused_and_there_without_it() -> None:
    head, z, y = problem()
    z.requires_grad_()
    (slopes,) = torch.autograd.grad(m3.ISM3Loss(head)(z, y), z, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slopes.square().sum().backward()
    (slopes,) = torch.autograd.grad(m3.ISM3Loss(head, fused=False)(z, y), z, create_graph=True)
    slopes.square().sum().backward()
    assert z.grad.abs().max() > 0.0


def test_general_way_is_taken_where_the_kernel_does_not_fit() -> None:
    head, z, y = problem()
    criterion = m3.ISM3Loss(head)
    weighted = m3.ISM3Loss(head, weight=torch.ones(5, dtype=torch.float64, device=DEVICE))
    cases = [
        (criterion, z, torch.softmax(z, 1)),
        (criterion, z.t().contiguous().t(), y),
        (criterion, z[:0], y[:0]),
        (weighted, z, y),
        (m3.ISM3Loss(nn.Linear(1, 257).to(z)), torch.zeros(3, 257).to(z), y[:3]),
        (m3.ISM3Loss(nn.Linear(4097, 2).to(z)), torch.zeros(3, 2).to(z), y[:3].clamp(max=1)),
        (m3.ISM3Loss(nn.Linear(2, 5).to(z), p=65.0), z, y),
    ]
    for loss, logits, target in cases:
        assert fused(loss, logits, target) is None
        general = loss.entropy(logits, target) + loss.regularizer()
        torch.testing.assert_close(loss(logits, target), general, equal_nan=True)
    with pytest.raises((ValueError, RuntimeError), match="size"):
        criterion(z, y[:-1])


def test_kernel_that_cannot_be_built_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fused, "_plans", {})
    monkeypatch.setattr(_fused, "_broken", False)
    monkeypatch.setitem(sys.modules, "m3svm.torch._kernel", None)
    head, z, y = problem()
    with pytest.warns(RuntimeWarning, match="cannot be built"):
        loss = m3.ISM3Loss(head)(z, y)
    assert _fused._broken
    torch.testing.assert_close(loss, m3.ISM3Loss(head, fused=False)(z, y))


@pytest.mark.skipif(DEVICE == "cpu", reason="LEFT OUT: the interpreter of Triton does not assert")
@pytest.mark.parametrize("bad", [-1, 5, 1 << 40])
def test_targets_out_of_range_stop_the_program(bad: int) -> None:
    # After such an error a process cannot use the device any more.
    code = f"""
import torch, m3svm.torch
head, y = torch.nn.Linear(7, 5, device="cuda"), torch.zeros(70, dtype=torch.int64, device="cuda")
y[3] = {bad}
print(m3svm.torch.ISM3Loss(head)(torch.zeros(70, 5, device="cuda"), y).item())
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode != 0 and "device-side assert" in run.stderr
    assert "not the number of a class" in run.stdout + run.stderr


@pytest.mark.skipif(DEVICE == "cpu", reason="LEFT OUT: autocast, streams and graphs need CUDA")
class TestOnTheDevice:
    def test_autocast(self) -> None:
        head, _, y = problem()
        head, x = head.float(), torch.randn(70, 7, device=DEVICE)
        results = []
        for way in (True, False):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                z = head(x)
                loss = m3.ISM3Loss(head, lam=0.3, fused=way)(z, y)
            assert z.dtype == torch.bfloat16 and loss.dtype == torch.float32
            results.append([loss.detach(), *torch.autograd.grad(loss, head.parameters())])
        for mine, theirs in zip(*results, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-2, atol=1e-3)

    def test_graph_of_launches(self) -> None:
        head, z, y = problem()
        criterion, other = m3.ISM3Loss(head), torch.randn_like(z)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.no_grad(), torch.cuda.stream(side):
            for _ in range(3):
                criterion(z, y)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            loss = criterion(z, y)
        general = m3.ISM3Loss(head, fused=False)
        for factor in (1.0, 2.0, 3.0):
            z.copy_(factor * other)
            graph.replay()
            torch.testing.assert_close(loss, general(z, y).detach())
            torch.testing.assert_close(criterion(z, y), general(z, y))

    def test_streams_and_graphs_run_beside_each_other(self) -> None:
        head, z, y = problem(4000, 50, 30)
        criterion = m3.ISM3Loss(head, lam=0.3)
        expected = criterion(z, y).item()
        values, graphs, streams = [], [], [torch.cuda.Stream() for _ in range(4)]
        for _ in streams:
            graph = torch.cuda.CUDAGraph()
            with torch.no_grad(), torch.cuda.graph(graph):
                values.append(criterion(z, y))
            graphs.append(graph)
        torch.cuda.synchronize()
        for _ in range(50):
            for graph, stream in zip(graphs, streams, strict=True):
                with torch.no_grad(), torch.cuda.stream(stream):
                    graph.replay()
                    values.append(criterion(z, y))
        torch.cuda.synchronize()
        assert {value.item() for value in values} == {expected}

    def test_training_goes_the_same_way(self) -> None:
        smallest = []
        for way in (True, False):
            torch.manual_seed(0)
            net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4)).to(DEVICE)
            x = torch.randn(256, 6, device=DEVICE)
            y = x[:, :4].argmax(1)
            criterion = m3.ISM3Loss(net[2], lam=1e-3, fused=way)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(50):
                optimizer.zero_grad()
                criterion(net(x), y).backward()
                optimizer.step()
            smallest.append(m3.margins(net[2].weight).min())
        torch.testing.assert_close(smallest[0], smallest[1], rtol=1e-3, atol=0.0)
