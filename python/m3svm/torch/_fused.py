"""The loss of ISM3 on CUDA as one kernel.

A small network keeps the host busier than the device, so that a step costs what its launches cost. This loss is one
launch and a sum in the forward pass and a product in the backward pass, where the general way takes dozens. It is used
where it fits (see `_plan`).
"""

from __future__ import annotations

import math
import os
import struct
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ._penalty import MOST_DIFFERENCES

#: With this setting of Triton its kernels run on the CPU, slowly, for tests.
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"

# torch before 2.1 cannot say whether it is compiling, and comes with a Triton that is too old.
_CAN_BE_USED = hasattr(torch, "compiler") or INTERPRETED
is_compiling: Callable[[], bool] = torch.compiler.is_compiling if hasattr(torch, "compiler") else lambda: False

# Whether something watches the operations of torch, which would not see the kernel.
_tracing = getattr(torch._C, "_get_tracing_state", lambda: None)
_transforms = getattr(torch._C, "_are_functorch_transforms_active", lambda: False)
_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)

_NUMBERS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
_PLAIN = (Tensor, nn.Parameter)
#: Most numbers that a program holds of one quantity.
_TILE = 4096

#: What is known about inputs seen before: nothing where the kernel does not fit.
_plans: dict[Any, _Plan | None] = {}
#: Set once the kernel could not be built.
_broken = False
#: Whether built kernels are launched without the checks of Triton. Some versions want other arguments then.
_direct = True


class _Plan:
    """All that depends on shapes, types and fixed settings alone."""

    __slots__ = (
        "alone",
        "batch",
        "constants",
        "kinds",
        "launcher",
        "length",
        "number",
        "places",
        "programs",
    )

    batch: int
    #: How many programs the kernel has, and what is constant in them.
    programs: int
    constants: tuple[Any, ...]
    #: The built kernel.
    launcher: Callable[..., Any] | None
    #: The type of the computation, those of the gradients of logits, weight and bias, and whether all are the same.
    number: torch.dtype
    kinds: tuple[torch.dtype, torch.dtype, torch.dtype | None]
    alone: bool
    #: Shapes, strides and places of these gradients in the output, and its length.
    places: tuple[Any, Any, Any]
    length: int


def fused_loss(
    logits: Tensor, target: Tensor, head: nn.Linear, entropy: nn.CrossEntropyLoss, lam: float, p: float, epsilon: float
) -> Tensor | None:
    """The loss with its gradients, or nothing where the general way has to be taken."""
    if _broken or _tracing() is not None or _transforms() or _modes():
        return None
    weight, bias = head.weight, head.bias if epsilon != 0.0 else None
    inputs = (logits, target, weight) if bias is None else (logits, target, weight, bias)
    fixed = (entropy.weight is None, entropy.ignore_index, entropy.reduction, entropy.label_smoothing, p, lam != 0.0)
    # Looked up, since what a plan rests on takes longer to check than to hash.
    key = (fixed, *[(x.shape, x.dtype, x.get_device(), type(x)) for x in inputs])
    try:
        plan = _plans[key]
    except KeyError:
        if len(_plans) >= 1024:
            _plans.clear()
        plan = _plans[key] = _plan(logits, target, weight, bias, entropy, lam, p)
    if plan is None:
        return None
    for x in inputs:
        if not x.is_contiguous():
            return None
    if logits.is_cuda and torch.cuda.current_device() != logits.get_device():
        with torch.cuda.device(logits.device):
            results = _launch(plan, logits, target, weight, bias, lam, epsilon)
    else:
        results = _launch(plan, logits, target, weight, bias, lam, epsilon)
    if results is None:
        return None
    loss: Tensor = _Fused.apply(plan, *results, logits, weight, bias)
    return loss


class _Fused(torch.autograd.Function):
    """The sum of the parts; the gradients are there already."""

    @staticmethod
    def forward(ctx: Any, plan: _Plan, out: Tensor, parts: Tensor, *_: Tensor | None) -> Tensor:
        ctx.save_for_backward(out)
        ctx.plan = plan
        return parts.sum()

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> Any:
        if not torch.is_grad_enabled():
            return _gradients(ctx, outer)
        # Somebody may want second derivatives and must not get 0 for them. torch only refuses where an argument asks
        # for gradients, and the outer one may be a constant.
        return _refusing_seconds(ctx, outer, torch.empty(0, requires_grad=True))


def _gradients(ctx: Any, outer: Tensor, _: Tensor | None = None) -> tuple[Tensor | None, ...]:
    (out,) = ctx.saved_tensors
    plan = ctx.plan
    out = out * outer
    parts = [None if place is None else out.as_strided(*place) for place in plan.places]
    if not plan.alone:
        # Rounded after the product: `GradScaler` is there to lift what half precision could not hold.
        parts = [None if part is None else part.to(kind) for part, kind in zip(parts, plan.kinds)]
    return None, None, None, *parts


_refusing_seconds = torch.autograd.function.once_differentiable(_gradients)


def _launch(
    plan: _Plan, logits: Tensor, target: Tensor, weight: Tensor, bias: Tensor | None, lam: float, epsilon: float
) -> tuple[Tensor, Tensor] | None:
    """Gradients and parts of the value, or nothing where the kernel cannot be built."""
    global _broken, _direct
    device = logits.device
    out = torch.empty(plan.length, dtype=plan.number, device=device)
    parts = torch.empty(plan.programs, dtype=plan.number, device=device)
    lam_rest, epsilon_rest = (_rest(lam), _rest(epsilon)) if plan.number == torch.float64 else (0.0, 0.0)
    arguments = (
        *(logits, target, weight, weight if bias is None else bias, out, parts),
        *(float(lam - lam_rest), lam_rest, float(epsilon - epsilon_rest), epsilon_rest, plan.batch),
        *plan.constants,
    )
    if plan.launcher is not None:
        try:
            plan.launcher(*arguments)
            return out, parts
        except TypeError:
            if not _direct:
                raise
            _direct = False
    try:
        from ._kernel import ism3

        # Assertions about integers that overflow come with those about targets, and would only cost time.
        launcher = partial(ism3[(plan.programs,)], sanitize_overflow=False, enable_fp_fusion=True)
        built = launcher(*arguments)
    except Exception as error:  # noqa: BLE001 - Triton needs a compiler for C and a device that it knows, for example.
        _broken = True
        warnings.warn(f"the fused loss cannot be built, and the general one is used: {error}", RuntimeWarning, 4)
        return None
    # The built kernel spares the check of every argument. It fits all inputs of the plan: it rests on no alignment.
    plan.launcher = built[(plan.programs, 1, 1)] if _direct and built is not None else launcher
    return out, parts


def _rest(number: float) -> float:
    """What single precision does not hold of a number."""
    single: float = struct.unpack("f", struct.pack("f", number))[0]
    return number - single


def _plan(
    logits: Tensor,
    target: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    entropy: nn.CrossEntropyLoss,
    lam: float,
    p: float,
) -> _Plan | None:
    """A plan for plain tensors with targets that are numbers of classes, unless there is too much for one pass."""
    tensors = [logits, target, weight] if bias is None else [logits, target, weight, bias]
    if not _CAN_BE_USED or entropy.weight is not None or logits.dim() != 2 or weight.dim() != 2 or p > 64.0:
        return None
    if any(type(x) not in _PLAIN or x.device != logits.device or x.layout != torch.strided for x in tensors):
        return None
    if any(x.dtype not in _NUMBERS for x in tensors if x is not target) or target.dtype != torch.int64:
        return None
    (batch, classes), features = logits.shape, weight.shape[1]
    if target.shape != (batch,) or weight.shape[0] != classes or (bias is not None and bias.shape != (classes,)):
        return None
    if not (0 < batch <= 16384 and 0 < classes <= 256 and 0 < features <= 4096):
        return None
    if classes * classes * features > MOST_DIFFERENCES:
        return None
    try:
        from triton import language
    except ImportError:
        return None
    double = torch.float64 in (logits.dtype, weight.dtype)
    class_block, feature_block = _power_of_two(classes), _power_of_two(features)
    rows = min(64, 2048 // class_block)
    others = max(1, min(16, class_block, _TILE // feature_block))
    vectors = max(1, min(4, class_block, _TILE // (feature_block * others)))
    # The exponent of the square, as a whole number and a rest that is negative below p = 2 only.
    exponent = 0.5 * p - 1.0
    whole = max(0, math.floor(exponent))
    plan = _Plan()
    plan.launcher = None
    plan.number = torch.float64 if double else torch.float32
    plan.kinds = (logits.dtype, weight.dtype, None if bias is None else bias.dtype)
    plan.alone = all(kind in (plan.number, None) for kind in plan.kinds)
    plan.batch = batch
    plan.programs = -(-batch // rows) + -(-classes // vectors)
    weight_at = _aligned(batch * classes)
    bias_at = weight_at + _aligned(classes * features)
    plan.places = (
        ((batch, classes), (classes, 1), 0),
        ((classes, features), (features, 1), weight_at),
        None if bias is None else ((classes,), (1,), bias_at),
    )
    plan.length = bias_at + classes
    plan.constants = (
        *(classes, features, class_block, feature_block, rows, vectors, others, lam != 0.0, bias is not None),
        *(p, whole, exponent - whole, torch.finfo(plan.number).tiny),
        *(entropy.reduction == "mean", entropy.ignore_index, entropy.label_smoothing),
        language.float64 if double else language.float32,
    )
    return plan


def _power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()


def _aligned(length: int) -> int:
    """The next place at which a gradient may begin in the output, as in the kernel."""
    return -(-length // 64) * 64
