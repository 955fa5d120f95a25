"""The sum of powers of the distances between class vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ._check import at_least

#: Most numbers in the table of all differences. Beyond it distances come from products, which costs digits but no memory.
MOST_DIFFERENCES = 1 << 22

is_compiling: Callable[[], bool] = torch.compiler.is_compiling


class MinMarginPenalty(nn.Module):
    """``Σ_{k<l} ‖wₖ − wₗ‖ᵖ`` over the rows of a weight matrix, one row per class.

    Value and gradient are computed together and in at least single precision, also under autocast; the gradient of
    class vectors that coincide is 0. Second derivatives are not offered.

    Parameters
    ----------
    p : float, default=4
        Power, at least 1. Large powers lift the smallest margin.

    Examples
    --------
    >>> import torch
    >>> fc = torch.nn.Linear(64, 10)
    >>> penalty = MinMarginPenalty(p=4)(fc.weight)
    """

    def __init__(self, p: float = 4.0) -> None:
        super().__init__()
        self.p = at_least("p", p, 1.0)

    def forward(self, weight: Tensor) -> Tensor:
        """The penalty of ``weight``, of shape (classes, features), as a number."""
        if weight.dim() != 2:
            raise ValueError(f"weight must have the shape (classes, features), got {tuple(weight.shape)}")
        value: Tensor = _PowersOfDistances.apply(weight, self.p, 0.0)
        return value

    def extra_repr(self) -> str:
        return f"p={self.p:g}"


def margins(weight: Tensor) -> Tensor:
    """The margins ``2/‖wₖ − wₗ‖`` between all pairs of classes, infinite where vectors coincide and on the diagonal.

    Parameters
    ----------
    weight : Tensor of shape (classes, features)

    Returns
    -------
    Tensor of shape (classes, classes)
    """
    with torch.no_grad(), torch.autocast(weight.device.type, enabled=False):
        squares, _ = _squared_distances(_wide(weight))
        return 2.0 / squares.sqrt()


class _PowersOfDistances(torch.autograd.Function):
    """``Σ_{k<l} ‖wₖ − wₗ‖ᵖ + r‖W‖²``. Written by hand, since autograd would need three times as many kernels."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, p: float, ridge: float) -> Tensor:
        with torch.autocast(weight.device.type, enabled=False):
            w = _wide(weight)
            squares, differences = _squared_distances(w)
            # ‖wₖ − wₗ‖ᵖ⁻²; what it is at 0 does not matter, as long as it is finite: it meets a difference of 0.
            slopes = squares if p == 4.0 else squares.pow(0.5 * p - 1.0).masked_fill(squares == 0.0, 0.0)
            value = 0.5 * _product(slopes, squares)
            if differences is None:
                gradient = slopes.sum(1, keepdim=True) * w - slopes @ w
            elif is_compiling():
                gradient = (slopes.unsqueeze(2) * differences).sum(1)
            else:
                gradient = torch.bmm(slopes.unsqueeze(1), differences).squeeze(1)
            gradient = p * gradient
            if ridge > 0.0:
                value = value + ridge * _product(w, w)
                gradient = torch.add(gradient, w, alpha=2.0 * ridge)
        ctx.save_for_backward(gradient.to(weight.dtype))
        return value

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> Any:
        # The compiler refuses second derivatives itself.
        if is_compiling() or not torch.is_grad_enabled():
            return _gradient(ctx, outer)
        return _refusing_seconds(ctx, outer, torch.empty(0, requires_grad=True))


def _gradient(ctx: Any, outer: Tensor, _: Tensor | None = None) -> tuple[Tensor, None, None]:
    (gradient,) = ctx.saved_tensors
    return (outer * gradient).to(gradient.dtype), None, None


# Somebody may want second derivatives and must not get 0 for them. torch only refuses where an argument asks for
# gradients, and the outer one may be a constant.
_refusing_seconds = torch.autograd.function.once_differentiable(_gradient)


def _wide(weight: Tensor) -> Tensor:
    """Class vectors in at least single precision."""
    return weight.float() if weight.dtype in (torch.float16, torch.bfloat16) else weight


def _product(a: Tensor, b: Tensor) -> Tensor:
    """The sum of products. The compiler makes few kernels of sums, but calls a library for every product of vectors."""
    return (a * b).sum() if is_compiling() else torch.dot(a.flatten(), b.flatten())


def _squared_distances(w: Tensor) -> tuple[Tensor, Tensor | None]:
    """All squared distances, and the differences ``wₖ − wₗ`` unless they would fill the memory."""
    classes, features = w.shape
    if classes * classes * features <= MOST_DIFFERENCES:
        differences = w.unsqueeze(1) - w.unsqueeze(0)
        return differences.square().sum(2), differences
    # Around their mean the vectors are as short as can be, which keeps most digits.
    centred = w - w.mean(0)
    gram = centred @ centred.t()
    lengths = gram.diagonal()
    squares = (lengths.unsqueeze(0) + lengths.unsqueeze(1)).sub(gram, alpha=2.0).clamp_(min=0.0)
    return squares.fill_diagonal_(0.0), None
