"""
The part of m3svm that is written in Rust. Its types (`_core.pyi`) are made from there by `make stubs`.
"""

from collections.abc import Callable
from m3svm._settings import Settings
from numpy import float64, uint32
from numpy.typing import NDArray
from os import PathLike
from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = [
    "BORDER",
    "__version__",
    "Model",
    "default_settings",
    "fit",
    "fit_batch",
    "fit_temperature",
    "methods",
    "search",
]

BORDER: Final = 1
"""
What this module and the Python files agree on; see `python/m3svm/_border.py`, where it is written too.
"""

__version__: Final[str]

@final
class Model:
    """
    A trained linear classifier, with the way it took if it was trained here. Immutable; its pickle is its model file and that way.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self, /) -> tuple[Any, tuple[bytes, list[tuple[int, float, float | None]]]]: ...
    def __repr__(self, /) -> str: ...
    @property
    def classes(self, /) -> list[str]:
        """
        Class names, in the order of the columns of scores.
        """
    @property
    def coef(self, /) -> NDArray[float64]:
        """
        The vectors of the scorers, one per row, for features as they come.
        """
    def export(
        self,
        /,
        format: str,
        *,
        single: bool = True,
        text_labels: bool = False,
        name: str | None = None,
        temperature: SupportsFloat | SupportsIndex | None = None,
    ) -> bytes:
        """
        The model in another format: onnx, c, json or liblinear.
        """
    @property
    def feature_names(self, /) -> list[str] | None: ...
    @staticmethod
    def from_bytes(content: bytes, trace: list[tuple[int, float, float | None]] | None = None) -> Model:
        """
        The model in the content of a model file, with the trace of its training if it is known.
        """
    @property
    def has_probabilities(self, /) -> bool: ...
    @property
    def intercept(self, /) -> NDArray[float64]:
        """
        The intercepts of the scorers, for features as they come.
        """
    @property
    def iterations(self, /) -> int: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> Model:
        """
        Reads a model file.
        """
    @property
    def margins(self, /) -> NDArray[float64]:
        """
        Margins of all pairs of classes, infinite on the diagonal; in scaled features.
        """
    @property
    def min_margin(self, /) -> float: ...
    @property
    def n_features(self, /) -> int: ...
    @property
    def objective(self, /) -> float: ...
    def predict(self, /, x: Any, n_threads: SupportsIndex | None = None) -> NDArray[uint32]:
        """
        The position of the class of every row.
        """
    def probabilities(self, /, x: Any, n_threads: SupportsIndex | None = None) -> NDArray[float64] | None:
        """
        Probabilities per row and class; `None` if the loss does not define them.
        """
    def raw_scores(self, /, x: Any, n_threads: SupportsIndex | None = None) -> NDArray[float64]:
        """
        What the scorers say: as `scores`, but one column per pair of classes for one-vs-one.
        """
    @property
    def relative_gap(self, /) -> float | None:
        """
        How far above the optimum the objective can be at most; `None` where the problem is not convex.
        """
    def save(self, /, path: str | PathLike[str]) -> None:
        """
        Writes the model file.
        """
    def scores(self, /, x: Any, n_threads: SupportsIndex | None = None) -> NDArray[float64]:
        """
        Scores per row and class.
        """
    @property
    def settings(self, /) -> Settings:
        """
        The settings it was trained with, as `fit` takes them.
        """
    @property
    def solver(self, /) -> str:
        """
        The solver that ran; never `auto`.
        """
    @property
    def stop(self, /) -> str:
        """
        Why it ended: converged, iteration-limit, no-progress or interrupted.
        """
    def to_bytes(self, /) -> bytes:
        """
        The content of the model file.
        """
    @property
    def trace(self, /) -> list[tuple[int, float, float | None]]:
        """
        Iteration, objective and relative gap (where it was computed) of every step; empty if the model comes from a file.
        """

def default_settings(method: str) -> Settings:
    """
    The settings of a method that the library takes where none are given.
    """

def fit(
    x: Any,
    y: NDArray[uint32],
    classes: list[str],
    settings: Settings,
    *,
    sample_weight: NDArray[float64] | None = None,
    feature_names: list[str] | None = None,
    start: Model | None = None,
    n_threads: SupportsIndex | None = None,
    progress: Callable[[int, float, float | None], object] | None = None,
    keep_interrupted: bool = False,
) -> tuple[Model, NDArray[uint32] | None]:
    """
    Trains a model; `y` are positions in `classes`. Returns it with the rows that support a margin (`None` if the loss has no margin).

    `progress(iteration, objective, relative_gap)` is called now and then. An exception from it, or Ctrl-C, ends the training and is
    raised, unless `keep_interrupted` asks for the model so far after Ctrl-C.
    """

def fit_batch(
    x: Any,
    y: NDArray[uint32],
    classes: list[str],
    settings: Settings,
    *,
    before: Model | None = None,
    moments: tuple[NDArray[float64], NDArray[float64], SupportsIndex] | None = None,
    sample_weight: NDArray[float64] | None = None,
    feature_names: list[str] | None = None,
    n_threads: SupportsIndex | None = None,
) -> tuple[Model, tuple[NDArray[float64], NDArray[float64], int]]:
    """
    Goes over a batch once by Adam, from where `before` and `moments` have left off. Returns the model and the moments for the next batch.
    """

def fit_temperature(
    scores: NDArray[float64], y: NDArray[uint32], sample_weight: NDArray[float64] | None = None
) -> float:
    """
    The temperature T at which softmax(scores/T) describes known classes best.
    """

def methods() -> list[str]:
    """
    Names of all methods.
    """

def search(
    x: Any,
    y: NDArray[uint32],
    classes: list[str],
    settings: Settings,
    splits: list[tuple[NDArray[uint32], NDArray[uint32]]],
    *,
    lams: list[float] | None = None,
    ps: list[float] | None = None,
    rule: str = "best-mean",
    tol: SupportsFloat | SupportsIndex | None = None,
    sample_weight: NDArray[float64] | None = None,
    n_threads: SupportsIndex | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[int, list[tuple[float | None, float | None, list[float]]]]:
    """
    Tries all `lams` with all `ps` on splits (row numbers to train and to test on); `None` stands for the library's usual values.

    Returns the position of the chosen setting and, per setting, λ, p and its accuracies by split. `progress(done, planned)` is called now and then.
    """
