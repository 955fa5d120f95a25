"""Types of the extension module, written in Rust (crates/m3svm-python)."""

from collections.abc import Callable
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ._settings import Settings

__version__: str
BORDER: int

__all__ = [
    "BORDER",
    "Model",
    "__version__",
    "default_settings",
    "fit",
    "fit_batch",
    "fit_temperature",
    "methods",
    "search",
]

@final
class Model:
    def scores(self, x: Any, n_threads: int | None = None) -> NDArray[np.float64]: ...
    def raw_scores(self, x: Any, n_threads: int | None = None) -> NDArray[np.float64]: ...
    def probabilities(self, x: Any, n_threads: int | None = None) -> NDArray[np.float64] | None: ...
    def predict(self, x: Any, n_threads: int | None = None) -> NDArray[np.uint32]: ...
    @property
    def classes(self) -> list[str]: ...
    @property
    def feature_names(self) -> list[str] | None: ...
    @property
    def n_features(self) -> int: ...
    @property
    def coef(self) -> NDArray[np.float64]: ...
    @property
    def intercept(self) -> NDArray[np.float64]: ...
    @property
    def margins(self) -> NDArray[np.float64]: ...
    @property
    def min_margin(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def relative_gap(self) -> float | None: ...
    @property
    def iterations(self) -> int: ...
    @property
    def solver(self) -> str: ...
    @property
    def stop(self) -> str: ...
    @property
    def trace(self) -> list[tuple[int, float, float | None]]: ...
    @property
    def has_probabilities(self) -> bool: ...
    @property
    def settings(self) -> Settings: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> Model: ...
    def export(
        self,
        format: str,
        *,
        single: bool = True,
        text_labels: bool = False,
        name: str | None = None,
        temperature: float | None = None,
    ) -> bytes: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(content: bytes, trace: list[tuple[int, float, float | None]] | None = None) -> Model: ...

def fit(
    x: Any,
    y: NDArray[np.uint32],
    classes: list[str],
    settings: Settings,
    *,
    sample_weight: NDArray[np.float64] | None = None,
    feature_names: list[str] | None = None,
    start: Model | None = None,
    n_threads: int | None = None,
    progress: Callable[[int, float, float | None], object] | None = None,
    keep_interrupted: bool = False,
) -> tuple[Model, NDArray[np.uint32] | None]: ...
def fit_batch(
    x: Any,
    y: NDArray[np.uint32],
    classes: list[str],
    settings: Settings,
    *,
    before: Model | None = None,
    moments: tuple[NDArray[np.float64], NDArray[np.float64], int] | None = None,
    sample_weight: NDArray[np.float64] | None = None,
    feature_names: list[str] | None = None,
    n_threads: int | None = None,
) -> tuple[Model, tuple[NDArray[np.float64], NDArray[np.float64], int]]: ...
def search(
    x: Any,
    y: NDArray[np.uint32],
    classes: list[str],
    settings: Settings,
    splits: list[tuple[NDArray[np.uint32], NDArray[np.uint32]]],
    *,
    lams: list[float] | None = None,
    ps: list[float] | None = None,
    rule: str = "best-mean",
    tol: float | None = None,
    sample_weight: NDArray[np.float64] | None = None,
    n_threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[int, list[tuple[float | None, float | None, list[float]]]]: ...
def fit_temperature(
    scores: NDArray[np.float64],
    y: NDArray[np.uint32],
    sample_weight: NDArray[np.float64] | None = None,
) -> float: ...
def default_settings(method: str) -> Settings: ...
def methods() -> list[str]: ...
