"""The paper's recipe: 500 full-batch Adam epochs from W = 0, in PyTorch or, where it is missing, in NumPy.

Both report the wall time of the epochs alone and the point they end in. The NumPy version uses the hand-written
gradient, so it has no autograd overhead; it is a separate row, never passed off as PyTorch.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from problem import DELTA, EPSILON, LAMBDA, POWER, Array, Matrix, Problem

try:
    import torch
except (ImportError, OSError):  # not installed, or one of its libraries is missing
    torch = None

EPOCHS = 500
BETA1, BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-8


def numpy_adam(x: Matrix, y: NDArray[np.int64], rate: float, dtype: type) -> tuple[float, Array]:
    """Seconds and the end point of Adam with PyTorch's defaults and update rule, in NumPy."""
    problem = Problem(x, y, dtype)
    theta = problem.start()
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    begin = time.perf_counter()
    for epoch in range(1, EPOCHS + 1):
        gradient = problem(theta)[1]
        first += (1 - BETA1) * (gradient - first)
        second *= BETA2
        second += (1 - BETA2) * gradient * gradient
        step = rate / (1 - BETA1**epoch)
        theta -= step * first / (np.sqrt(second) / np.sqrt(1 - BETA2**epoch) + ADAM_EPSILON)
    return time.perf_counter() - begin, theta.astype(np.float64)


def torch_adam(
    x: Matrix, y: NDArray[np.int64], rate: float, dtype: type, threads: int, epochs: int = EPOCHS
) -> tuple[float, Array]:
    """Seconds and the end point of torch.optim.Adam on F by autograd, on the CPU.

    Sparse features are used dense and as a COO tensor; the faster of the two counts.
    """
    torch.set_num_threads(threads)
    kind = {np.float32: torch.float32, np.float64: torch.float64}[dtype]
    target = torch.tensor(y.tolist())
    n, d = x.shape
    c = int(y.max()) + 1
    rows = torch.arange(n)
    upper = torch.triu_indices(c, c, 1)
    other = torch.ones(n, c, dtype=kind)
    other[rows, target] = 0.0

    def tensor(values: NDArray[np.generic]) -> torch.Tensor:
        """Copies through a buffer: also works where torch was built for another NumPy."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            flat = torch.frombuffer(bytearray(values.astype(dtype).tobytes()), dtype=kind)
        return flat.reshape(values.shape)

    def fit(features: torch.Tensor, epochs: int = epochs) -> tuple[float, Array]:
        weights = torch.zeros(d, c, dtype=kind, requires_grad=True)
        bias = torch.zeros(c, dtype=kind, requires_grad=True)
        optimiser = torch.optim.Adam([weights, bias], lr=rate, betas=(BETA1, BETA2), eps=ADAM_EPSILON)
        begin = time.perf_counter()
        for _ in range(epochs):
            optimiser.zero_grad()
            product = torch.sparse.mm(features, weights) if features.is_sparse else features @ weights
            scores = product + bias
            margin = 1.0 - scores[rows, target].unsqueeze(1) + scores
            loss = (0.5 * (margin + torch.sqrt(margin * margin + DELTA * DELTA)) * other).sum()
            gram = weights.t() @ weights
            norms = gram.diagonal()
            # Squared distances, so that the power p/2 has a gradient at distance zero.
            squares = (norms[upper[0]] + norms[upper[1]] - 2.0 * gram[upper[0], upper[1]]).clamp(min=0.0)
            loss = loss + LAMBDA * (squares ** (POWER / 2)).sum()
            loss = loss + EPSILON * ((weights * weights).sum() + (bias * bias).sum())
            loss.backward()
            optimiser.step()
        seconds = time.perf_counter() - begin
        end = weights.detach().reshape(-1).tolist() + bias.detach().tolist()
        return seconds, np.array(end)

    dense = tensor(x.toarray() if sp.issparse(x) else x)
    fit(dense, 3)  # the first epochs wake the thread pools
    if not sp.issparse(x):
        return fit(dense)
    entries = x.tocoo()
    places = torch.tensor([entries.row.tolist(), entries.col.tolist()])
    sparse = torch.sparse_coo_tensor(places, tensor(entries.data), (n, d)).coalesce()
    return min(fit(sparse), fit(dense), key=lambda run: run[0])
