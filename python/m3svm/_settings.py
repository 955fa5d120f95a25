"""The settings that the extension module takes."""

from __future__ import annotations

from typing import Literal, TypedDict


class Settings(TypedDict, total=False):
    """Those of one method; what is left out keeps its default there."""

    method: str
    lam: float | Literal["auto"]
    p: float
    norm: str
    l1_ratio: float
    delta: float
    k: int
    kernel: str
    gamma: float | str
    degree: int
    coef0: float
    rank: int | None
    epsilon: float
    fit_intercept: bool
    scale: str
    class_weight: str | dict[str, float] | None
    solver: str
    tol: float
    max_iter: int | None
    seed: int


class Preparation(TypedDict, total=False):
    """How columns of every kind become features; what is left out keeps its default."""

    missing: str
    missing_words: list[str]
    most_values: int
    keep: list[str] | str
    categories: list[str]
    text: list[str]
    most_words: int
    time_parts: list[str]
