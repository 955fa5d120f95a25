"""The last layer of a network and the estimators of this package: one into the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from torch import Tensor, nn

from .._hinge import M3SVMClassifier


def to_linear(estimator: Any) -> nn.Linear:
    """The layer that computes the scores of a fitted estimator.

    Parameters
    ----------
    estimator : fitted estimator with one scorer per class
        Its order of classes becomes the order of the outputs.

    Returns
    -------
    nn.Linear
        In double precision, on the CPU.
    """
    weight, bias = _scorers(estimator)
    layer = nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64)
    _assign(layer, weight, bias)
    return layer


def fit_head(head: nn.Linear, embeddings: Any, target: Any, estimator: Any = None, **fit_params: Any) -> Any:
    """Trains the last layer on frozen embeddings to the certified optimum, and puts the result into it.

    Parameters
    ----------
    head : nn.Linear
        Overwritten in place, on its device and in its precision. It needs a bias, unless the estimator fits none.
    embeddings : Tensor or array of shape (samples, features)
        What the layer gets to see, for example ``net.backbone(images)``.
    target : Tensor or array of shape (samples,)
        Numbers of classes. All classes of the layer must occur.
    estimator : estimator, default=M3SVMClassifier()
        Unfitted; it is cloned. Its ``lam`` belongs to sums over samples, not to means.
    **fit_params
        Passed to ``fit``, for example ``sample_weight``.

    Returns
    -------
    estimator
        The fitted clone, with its margins and its certificate.
    """
    x = np.ascontiguousarray(_array(embeddings))
    y = _array(target)
    classes = np.unique(y)
    if not np.array_equal(classes, np.arange(head.out_features)):
        raise ValueError(
            f"target must contain every class from 0 to {head.out_features - 1} of the head and no other, "
            f"got {len(classes)} different values"
        )
    fitted = clone(M3SVMClassifier() if estimator is None else estimator).fit(x, y, **fit_params)
    _assign(head, *_scorers(fitted))
    return fitted


def _scorers(estimator: Any) -> tuple[Any, Any]:
    """Weights and intercepts with one row per class."""
    # Ours have one row per class there with two classes too.
    own = "scorer_" if hasattr(estimator, "scorer_coef_") else ""
    weight, bias = (np.asarray(getattr(estimator, own + name)) for name in ("coef_", "intercept_"))
    classes = len(estimator.classes_)
    if weight.shape[0] != classes or getattr(estimator, "_method", None) == "ovo":
        raise ValueError(f"{type(estimator).__name__} does not have one scorer per class, which a layer needs")
    return weight, bias


def _assign(head: nn.Linear, weight: Any, bias: Any) -> None:
    if tuple(head.weight.shape) != weight.shape:
        raise ValueError(f"the head has weights of shape {tuple(head.weight.shape)}, the estimator {weight.shape}")
    if head.bias is None and np.any(bias != 0.0):
        raise ValueError("the head has no bias; use an estimator with fit_intercept=False")
    with torch.no_grad():
        head.weight.copy_(torch.from_numpy(np.array(weight)))
        if head.bias is not None:
            head.bias.copy_(torch.from_numpy(np.array(bias)))


def _array(values: Any) -> Any:
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        return (values.float() if values.dtype in (torch.float16, torch.bfloat16) else values).numpy()
    return np.asarray(values)
