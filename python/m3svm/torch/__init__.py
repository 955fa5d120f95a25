"""The paper's margin penalty and losses for PyTorch.

One line changes a network that is trained with cross-entropy:

.. code-block:: python

    criterion = m3svm.torch.ISM3Loss(net.fc, lam=1e-4, p=4)   # instead of nn.CrossEntropyLoss()
    loss = criterion(net(images), labels)

Losses are averaged over the batch, as everywhere in PyTorch, while the estimators of this package sum over samples:
``lam`` here corresponds to ``n * lam`` there, with n the number of training samples.
"""

from typing import TYPE_CHECKING, Any

from ._losses import ISM3Loss, PairwiseLogisticLoss, SmoothHingeLoss
from ._penalty import MinMarginPenalty, margins

if TYPE_CHECKING:
    from ._head import fit_head, to_linear

__all__ = [
    "ISM3Loss",
    "MinMarginPenalty",
    "PairwiseLogisticLoss",
    "SmoothHingeLoss",
    "fit_head",
    "margins",
    "to_linear",
]


def __getattr__(name: str) -> Any:
    """Heads when they are first asked for: the estimators need scikit-learn, the losses only torch."""
    if name not in ("fit_head", "to_linear"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _head

    globals()[name] = value = getattr(_head, name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
