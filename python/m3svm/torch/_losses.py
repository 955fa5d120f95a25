"""Losses of scores, with and without the margin penalty."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from ._check import at_least
from ._fused import INTERPRETED, fused_loss
from ._penalty import _PowersOfDistances, is_compiling

_REDUCTIONS = ("mean", "sum", "none")


class ISM3Loss(nn.Module):
    """Cross-entropy with the margin penalty of the last layer (ISM3).

    ``cross_entropy(logits, target) + lam·Σ_{k<l} ‖wₖ − wₗ‖ᵖ + epsilon·(‖W‖² + ‖b‖²)``

    Parameters
    ----------
    head : nn.Linear
        The last layer, whose ``weight`` has one row per class. It stays a part of the network alone: its parameters
        are not among those of this loss.
    lam : float, default=1e-4
        Strength of the margin penalty.
    p : float, default=4
        Power of the distances, at least 1.
    epsilon : float, default=1e-6
        Strength of the quadratic term, which makes the optimal head unique.
    weight : Tensor of shape (classes,), optional
        Weights of classes, as in ``nn.CrossEntropyLoss``.
    ignore_index, reduction, label_smoothing
        As in ``nn.CrossEntropyLoss``. The penalty is added to the reduced loss.
    fused : bool, default=True
        Whether to compute the loss and all its gradients in one kernel where that is possible: on CUDA with Triton,
        for at most 256 classes, with numbers of classes as targets and no weights. It has no second derivatives;
        without it, those of the cross-entropy are there. ``torch.compile`` always takes the way without.
    """

    def __init__(
        self,
        head: nn.Linear,
        lam: float = 1e-4,
        p: float = 4.0,
        epsilon: float = 1e-6,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__()
        if reduction not in ("mean", "sum"):
            raise ValueError(f"reduction must be 'mean' or 'sum', got {reduction!r}")
        # In a tuple, so that the layer is not registered as a part of the loss.
        self._head = (head,)
        self.lam = at_least("lam", lam, 0.0)
        self.p = at_least("p", p, 1.0)
        self.epsilon = at_least("epsilon", epsilon, 0.0)
        self.fused = fused
        self.entropy = nn.CrossEntropyLoss(
            weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
        )

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """The loss of scores of shape (batch, classes) and the penalty of the head, as a number."""
        if self.fused and not is_compiling() and (logits.is_cuda or INTERPRETED):
            fused = fused_loss(logits, target, self._head[0], self.entropy, self.lam, self.p, self.epsilon)
            if fused is not None:
                return fused
        loss: Tensor = self.entropy(logits, target) + self.regularizer()
        return loss

    def regularizer(self) -> Tensor:
        """Everything but the cross-entropy."""
        (head,) = self._head
        if self.lam == 0.0:
            weights = self.epsilon * head.weight.square().sum()
        else:
            weights = self.lam * _PowersOfDistances.apply(head.weight, self.p, self.epsilon / self.lam)
        if head.bias is None or self.epsilon == 0.0:
            return weights
        return weights + self.epsilon * head.bias.square().sum()

    def extra_repr(self) -> str:
        return f"lam={self.lam:g}, p={self.p:g}, epsilon={self.epsilon:g}"


class _PairwiseLoss(nn.Module):
    """``Σ_{k≠y} g(zₖ − z_y)``, averaged over samples (by the weights of their classes)."""

    weight: Tensor | None

    def __init__(self, weight: Tensor | None, reduction: str) -> None:
        super().__init__()
        if reduction not in _REDUCTIONS:
            raise ValueError(f"reduction must be one of {_REDUCTIONS}, got {reduction!r}")
        self.register_buffer("weight", weight)
        self.reduction = reduction

    def pair(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """The loss of scores of shape (batch, classes) for targets of shape (batch,)."""
        if logits.dtype in (torch.float16, torch.bfloat16):
            logits = logits.float()
        own = logits.gather(1, target.unsqueeze(1))
        pairs = self.pair(logits - own)
        # The true class with itself is no pair; its term is a constant, and so has no gradient.
        losses = pairs.scatter(1, target.unsqueeze(1), 0.0).sum(1)
        if self.weight is not None:
            weights = self.weight[target]
            losses = losses * weights
            if self.reduction == "mean":
                return losses.sum() / weights.sum()
        if self.reduction == "none":
            return losses
        return losses.mean() if self.reduction == "mean" else losses.sum()


class SmoothHingeLoss(_PairwiseLoss):
    """The loss of M³SVM: ``Σ_{k≠y} g(1 − z_y + zₖ)`` with ``g(x) = (x + √(x² + δ²))/2``.

    Parameters
    ----------
    delta : float, default=0.01
        Width of the smoothing; 0 is the exact hinge.
    weight : Tensor of shape (classes,), optional
        Weights of classes.
    reduction : {'mean', 'sum', 'none'}, default='mean'
        With weights, 'mean' divides by the weights of the samples, as ``nn.CrossEntropyLoss`` does.
    """

    def __init__(self, delta: float = 0.01, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(weight, reduction)
        self.delta = at_least("delta", delta, 0.0)

    def pair(self, t: Tensor) -> Tensor:
        x = 1.0 + t
        if self.delta == 0.0:
            return functional.relu(x)
        root = (x.square() + self.delta**2).sqrt()
        # Where x is far below 0, x + √… would cancel.
        below = 0.5 * self.delta**2 / (root - x.clamp(max=0.0))
        return torch.where(x < 0.0, below, 0.5 * (x + root))

    def extra_repr(self) -> str:
        return f"delta={self.delta:g}"


class PairwiseLogisticLoss(_PairwiseLoss):
    """The logistic loss of pairs (appendix A.3 of the paper): ``Σ_{k≠y} log(1 + exp(zₖ − z_y))``.

    Parameters
    ----------
    weight : Tensor of shape (classes,), optional
        Weights of classes.
    reduction : {'mean', 'sum', 'none'}, default='mean'
        With weights, 'mean' divides by the weights of the samples, as ``nn.CrossEntropyLoss`` does.
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(weight, reduction)

    def pair(self, t: Tensor) -> Tensor:
        return functional.softplus(t)
