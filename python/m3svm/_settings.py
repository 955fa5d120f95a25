"""The settings that the extension module takes."""

from __future__ import annotations

from typing import TypedDict


class Settings(TypedDict, total=False):
    """Those of one method; what is left out keeps its default there."""

    method: str
    lam: float
    p: float
    norm: str
    delta: float
    k: int
    epsilon: float
    fit_intercept: bool
    scale: str
    class_weight: str | dict[str, float] | None
    solver: str
    tol: float
    max_iter: int | None
    seed: int
