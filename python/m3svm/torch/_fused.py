"""The loss of ISM3 on CUDA as one kernel.

A small network keeps the host busier than the device, so that a step costs what its launches cost. This loss is one
launch in the forward pass and one in the backward pass, where the general way takes dozens. It is used where it fits
(see `_plan`).
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

# Whether something watches the operations of torch, which would not see the kernel.
_tracing = getattr(torch._C, "_get_tracing_state", lambda: None)
_transforms = getattr(torch._C, "_are_functorch_transforms_active", lambda: False)
_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)

# Without the checks of `torch.cuda`; only called with tensors on a device.
_current_device: Callable[[], int] = getattr(torch._C, "_cuda_getDevice", lambda: -1)
_current_stream: Callable[[int], int] = getattr(torch._C, "_cuda_getCurrentRawStream", lambda _: 0)
_is_capturing: Callable[[], bool] = getattr(torch._C, "_cuda_isCurrentStreamCapturing", lambda: False)

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
        "built",
        "constants",
        "device",
        "kinds",
        "launcher",
        "number",
        "programs",
        "scratch",
    )

    batch: int
    #: How many programs the kernel has, and what is constant in them.
    programs: int
    constants: tuple[Any, ...]
    #: The kernel as Triton launches it, and the built one: what runs it, its function and its description.
    launcher: Callable[..., Any] | None
    built: tuple[Callable[..., Any], Any, Any] | None
    #: The number of the device, -1 on the CPU.
    device: int
    #: The type of the computation, those of the gradients of logits, weight and bias, and whether all are the same.
    number: torch.dtype
    kinds: tuple[torch.dtype, ...]
    alone: bool
    #: For every stream the places for the parts of the value, and a counter that is 0 between launches.
    scratch: dict[int, tuple[Tensor, Tensor]]


def fused_loss(
    logits: Tensor, target: Tensor, head: nn.Linear, entropy: nn.CrossEntropyLoss, lam: float, p: float, epsilon: float
) -> Tensor | None:
    """The loss with its gradients, or nothing where the general way has to be taken."""
    if _broken or _tracing() is not None or _transforms() or _modes():
        return None
    # Modules find their attributes slowly.
    parameters, bias = head._parameters, None
    weight = parameters.get("weight")
    if weight is None:
        weight = head.weight
    if epsilon != 0.0:
        bias = parameters.get("bias")
        if bias is None:
            bias = head.bias
    device = logits.get_device()
    # Looked up, since what a plan rests on takes longer to check than to hash.
    key = (
        *(logits.shape, logits.dtype, device, type(logits)),
        *(target.shape, target.dtype, target.get_device(), type(target)),
        *(weight.shape, weight.dtype, weight.get_device(), type(weight)),
        *((None,) if bias is None else (bias.shape, bias.dtype, bias.get_device(), type(bias))),
        *(entropy._buffers["weight"] is None, entropy.ignore_index, entropy.reduction, entropy.label_smoothing),
        *(p, lam != 0.0),
    )
    try:
        plan = _plans[key]
    except KeyError:
        if len(_plans) >= 1024:
            _plans.clear()
        plan = _plans[key] = _plan(logits, target, weight, bias, entropy, lam, p)
    if plan is None or not (logits.is_contiguous() and target.is_contiguous() and weight.is_contiguous()):
        return None
    if bias is not None and not bias.is_contiguous():
        return None
    if device >= 0 and _current_device() != device:
        with torch.cuda.device(device):
            results = _launch(plan, logits, target, weight, bias, lam, epsilon)
    else:
        results = _launch(plan, logits, target, weight, bias, lam, epsilon)
    if results is None:
        return None
    loss: Tensor = _apply(results, logits, weight) if bias is None else _apply(results, logits, weight, bias)
    return loss


class _Fused(torch.autograd.Function):
    """The value; the gradients are there already."""

    @staticmethod
    def forward(ctx: Any, results: tuple[Tensor, list[Tensor], _Plan], *_: Tensor) -> Tensor:
        # Not by `save_for_backward`, which takes longer and is only needed for inputs and outputs.
        value, ctx.gradients, ctx.plan = results
        return value

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> Any:
        if not torch.is_grad_enabled():
            return _gradients(ctx, outer)
        # As in `_PowersOfDistances`.
        return _refusing_seconds(ctx, outer, torch.empty(0, requires_grad=True))


# `_Fused.apply` without what it does for the transforms of functorch, under which it is not called.
_apply: Callable[..., Tensor] = super(torch.autograd.Function, _Fused).apply


def _gradients(ctx: Any, outer: Tensor, _: Tensor | None = None) -> tuple[Tensor | None, ...]:
    # Each in memory of its own, to which autograd can add other gradients of the same parameter in place.
    parts = torch._foreach_mul(ctx.gradients, outer)
    if not ctx.plan.alone:
        # Rounded after the product: `GradScaler` is there to lift what half precision could not hold.
        parts = [part.to(kind) for part, kind in zip(parts, ctx.plan.kinds)]
    return None, *parts


_refusing_seconds = torch.autograd.function.once_differentiable(_gradients)


def _launch(
    plan: _Plan, logits: Tensor, target: Tensor, weight: Tensor, bias: Tensor | None, lam: float, epsilon: float
) -> tuple[Tensor, list[Tensor], _Plan] | None:
    """Value, gradients and plan, or nothing where the kernel cannot be built."""
    global _direct
    number, device = plan.number, plan.device
    inputs = (logits, weight) if bias is None else (logits, weight, bias)
    gradients = [torch.empty_like(x) if plan.alone else torch.empty_like(x, dtype=number) for x in inputs]
    value = gradients[0].new_empty(())
    stream = _current_stream(device) if device >= 0 else 0
    if device >= 0 and _is_capturing():
        # Graphs of launches may run beside each other, and each needs a counter of its own.
        scratch = _scratch(plan, logits.device)
    elif stream in plan.scratch:
        scratch = plan.scratch[stream]
    else:
        scratch = plan.scratch[stream] = _scratch(plan, logits.device)
    tensors = (
        *(logits, target, weight, weight if bias is None else bias),
        *(gradients[0], gradients[1], gradients[-1], value, *scratch),
    )
    lam_rest, epsilon_rest = (_rest(lam), _rest(epsilon)) if number is torch.float64 else (0.0, 0.0)
    numbers = (float(lam - lam_rest), lam_rest, float(epsilon - epsilon_rest), epsilon_rest, plan.batch)
    if plan.built is not None and _direct:
        run, function, description = plan.built
        # Nothing for the hooks of profilers, which would have to be asked for every time.
        launch = (plan.programs, 1, 1, stream, function, description, None, None, None)
        try:
            run(*launch, *[x.data_ptr() for x in tensors], *numbers, *plan.constants)
            return value, gradients, plan
        except TypeError:
            _direct = False
    if not _launch_by_triton(plan, (*tensors, *numbers, *plan.constants)):
        return None
    return value, gradients, plan


def _scratch(plan: _Plan, device: torch.device) -> tuple[Tensor, Tensor]:
    parts = torch.empty(plan.programs, dtype=plan.number, device=device)
    return parts, torch.zeros(1, dtype=torch.int32, device=device)


def _launch_by_triton(plan: _Plan, arguments: tuple[Any, ...]) -> bool:
    """Launches in the documented way, which takes several times as long, and says whether the kernel could be built."""
    global _broken
    try:
        if plan.launcher is None:
            from ._kernel import ism3

            # Assertions about integers that overflow come with those about targets, and would only cost time. The
            # interpreter does not know these options in all versions.
            options = {} if INTERPRETED else {"sanitize_overflow": False, "enable_fp_fusion": True}
            plan.launcher = partial(ism3[(plan.programs,)], **options)
        built = plan.launcher(*arguments)
    except Exception as error:  # noqa: BLE001 - Triton needs a compiler for C and a device that it knows, for example.
        _broken = True
        warnings.warn(f"the fused loss cannot be built, and the general one is used: {error}", RuntimeWarning, 5)
        return False
    # From now on without a look at every argument. It fits all inputs of the plan: it rests on no alignment.
    if built is not None and hasattr(built, "packed_metadata"):
        plan.built = (built.run, built.function, built.packed_metadata)
    return True


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
    if entropy.weight is not None or logits.dim() != 2 or weight.dim() != 2 or p > 64.0:
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
    plan.launcher = plan.built = None
    plan.scratch = {}
    plan.device = logits.get_device()
    plan.number = torch.float64 if double else torch.float32
    plan.kinds = tuple(x.dtype for x in tensors if x is not target)
    plan.alone = all(kind == plan.number for kind in plan.kinds)
    plan.batch = batch
    plan.programs = -(-batch // rows) + -(-classes // vectors)
    plan.constants = (
        *(classes, features, class_block, feature_block, rows, vectors, others, lam != 0.0, bias is not None),
        *(p, whole, exponent - whole, torch.finfo(plan.number).tiny),
        *(entropy.reduction == "mean", entropy.ignore_index, entropy.label_smoothing),
        language.float64 if double else language.float32,
    )
    return plan


def _power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()
