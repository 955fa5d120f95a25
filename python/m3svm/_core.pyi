"""
The part of m3svm that is written in Rust. Its types (`_core.pyi`) are made from there by `make stubs`.
"""

from collections.abc import Callable
from m3svm._settings import Preparation, Settings
from numpy import float64, int64, uint32
from numpy.typing import NDArray
from os import PathLike
from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = [
    "BORDER",
    "__version__",
    "Frame",
    "GatheredRows",
    "Model",
    "PreparedFrame",
    "RowPart",
    "check_passing",
    "choose",
    "default_settings",
    "describe_part",
    "fit",
    "fit_batch",
    "fit_parts",
    "fit_temperature",
    "further",
    "grid",
    "memory_budget",
    "methods",
    "search",
    "set_memory_budget",
]

BORDER: Final = 8
"""
What this module and the Python files agree on; see `python/m3svm/_border.py`, where it is written too.
"""

__version__: Final[str]

@final
class Frame:
    """
    The rows of a data frame, and how their columns are to be prepared once that has been decided. Immutable.
    """
    def __getitem__(self, rows: NDArray[int64], /) -> Frame:
        """
        A copy of chosen rows.
        """
    def __len__(self, /) -> int: ...
    def for_training(
        self, /, settings: Preparation, sample_weight: NDArray[float64] | None = None
    ) -> tuple[Frame, list[tuple[str, str]]]:
        """
        Decides which columns are features. Gives them, and the others with the reasons.
        """
    @staticmethod
    def from_arrow(content: bytes) -> Frame:
        """
        A frame in the bytes of an Arrow stream.
        """
    @staticmethod
    def from_columns(columns: list[Any], rows: SupportsIndex, names: list[str] | None = None) -> Frame:
        """
        A frame of columns: arrays of numbers, pairs of positions and texts, or pairs of milliseconds and whether they are durations.
        """
    def keys(self, /) -> NDArray[float64]:
        """
        A number per cell, the same for equal cells: to compare rows by.
        """
    @property
    def names(self, /) -> list[str]:
        """
        Names of the columns; `column 1` and so on where they have none.
        """
    def select(self, /, names: list[str]) -> Frame:
        """
        Chosen columns, in that order.
        """
    @property
    def shape(self, /) -> tuple[int, int]: ...

@final
class GatheredRows:
    """
    Takes rows batch by batch, and trains on them once all have come.
    """
    def __new__(cls, /, folder: str | PathLike[str] | None = None) -> GatheredRows:
        """
        What does not fit into memory goes to the folder, or to that for temporary files.
        """
    def finish(self, /, *, text_labels: bool, feature_names: list[str] | None = None) -> None:
        """
        Nothing more will come.
        """
    def fit(
        self,
        /,
        settings: Settings,
        *,
        start: Model | None = None,
        n_threads: SupportsIndex | None = None,
        progress: Callable[[int, float, float | None, int | None, float | None], object] | None = None,
        keep_interrupted: bool = False,
    ) -> Model:
        """
        Trains on all rows, which are gone afterwards.

        `progress(iteration, objective, relative_gap, passes, seconds_left)` is called now and then. An exception from it, or Ctrl-C, ends the training and is
        raised, unless `keep_interrupted` asks for the model so far after Ctrl-C.
        """
    @property
    def left_out(self, /) -> list[tuple[str, str]]:
        """
        Columns that are no features, and why.
        """
    @property
    def means(self, /) -> list[float] | None:
        """
        The mean of every column of a frame of numbers without gaps.
        """
    def pass_ended(self, /) -> bool:
        """
        All rows have come. Whether they are to come once more: what becomes of columns may be learnt from all rows first.
        """
    @property
    def prepared(self, /) -> bool:
        """
        Whether features were made of columns, and are not columns as they are.
        """
    def push(
        self,
        /,
        x: Any,
        y: NDArray[uint32],
        labels: list[str],
        *,
        sample_weight: NDArray[float64] | None = None,
        settings: Preparation | None = None,
    ) -> None:
        """
        Adds a batch; `y` are positions in `labels`, of which there may be more than before. Columns of a data frame are prepared as `settings`
        say, or `None` says that only those are which are no numbers without gaps.
        """

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
    @property
    def column_names(self, /) -> list[str | None] | None:
        """
        Names of the columns that it makes its features of, `None` for those that have none; `None` if it was trained on features as they are.
        """
    def described(self, /, labels: str, temperature: SupportsFloat | SupportsIndex | None = None) -> Model:
        """
        The same model with what its class names stand for, and with the temperature of its probabilities, for its file.
        """
    @property
    def dual_coef(self, /) -> NDArray[float64] | None:
        """
        What they weigh, one row per scorer.
        """
    @property
    def evaluations(self, /) -> int:
        """
        Evaluations of the loss over all rows.
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
    @property
    def labels(self, /) -> str | None:
        """
        What the class names stand for: text, integer, real or boolean; `None` if nobody has said so.
        """
    @property
    def lambda_choice(self, /) -> tuple[tuple[int, int, int, int], float, list[tuple[float, int, float, float]]] | None:
        """
        How λ was chosen from the data: folds, rows, rows that took part, fits, evaluations of the loss in units of all rows, and for
        every value that was tried λ, folds, accuracy and log-loss. `None` if it was given.
        """
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
    @property
    def passes(self, /) -> int | None:
        """
        How often all rows were asked or read, where they were not in memory at once.
        """
    def predict(self, /, x: Any, n_threads: SupportsIndex | None = None) -> NDArray[uint32]:
        """
        The position of the class of every row.
        """
    def prepare(
        self, /, frame: Frame, means: list[float] | None = None
    ) -> tuple[PreparedFrame, list[tuple[str, int, int, str | None]]]:
        """
        A frame, with the columns of `column_names` in that order, as features; and what was filled or never seen. A model of numbers fills
        gaps by `means`, if there are any.
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
    @property
    def support(self, /) -> NDArray[uint32] | None:
        """
        Numbers of the training rows that scores are sums over, with a kernel; `None` where scores are linear.
        """
    @property
    def support_counts(self, /) -> list[int] | None:
        """
        How many of them are of each class.
        """
    @property
    def support_is_sparse(self, /) -> bool:
        """
        Whether they were sparse.
        """
    @property
    def support_vectors(self, /) -> NDArray[float64] | None:
        """
        The rows themselves, as they came; `None` without a kernel, and with a precomputed one.
        """
    @property
    def temperature(self, /) -> float | None:
        """
        The temperature of probabilities that the loss does not define.
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
    @property
    def trace_left(self, /) -> float | None:
        """
        The share of the trace of the kernel matrix that a low rank leaves out.
        """

@final
class PreparedFrame:
    """
    Rows of a data frame as the features of a model.
    """
    @property
    def shape(self, /) -> tuple[int, int]: ...

@final
class RowPart:
    """
    What a worker keeps of one part of the rows between the messages of a fit. It can be thrown away at any time.
    """
    def __new__(cls, /) -> RowPart: ...
    def answer(
        self,
        /,
        x: Any,
        y: NDArray[uint32],
        message: bytes,
        *,
        sample_weight: NDArray[float64] | None = None,
        n_threads: SupportsIndex | None = None,
    ) -> bytes:
        """
        Answers a message of `fit_parts` about these rows; `y` are positions in its `classes`.
        """

def check_passing(settings: Settings) -> None:
    """
    Refuses settings that need all rows in memory.
    """

def choose(tried: list[tuple[float | None, float | None, list[float]]], rule: str) -> int:
    """
    The position of the setting that a rule chooses, by its scores on every split, of which more is better.
    """

def default_settings(method: str) -> Settings:
    """
    The settings of a method that the library takes where none are given, with one λ for all data.
    """

def describe_part(x: Any, sample_weight: NDArray[float64] | None = None) -> str:
    """
    What a fit has to know of some rows before it begins, as text that can be sent.
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

def fit_parts(
    carrier: Any,
    descriptions: list[str],
    classes: list[str],
    mass: list[float],
    settings: Settings,
    *,
    feature_names: list[str] | None = None,
    start: Model | None = None,
    n_threads: SupportsIndex | None = None,
    progress: Callable[[int, float, float | None, int | None, float | None], object] | None = None,
    keep_interrupted: bool = False,
) -> Model:
    """
    Trains on rows in parts, with one description each, by way of a carrier. `mass` is the weight of the rows of each class.

    `progress(iteration, objective, relative_gap, passes, seconds_left)` is called now and then. An exception from it or from the carrier, or Ctrl-C, ends the
    training and is raised, unless `keep_interrupted` asks for the model so far after Ctrl-C.
    """

def fit_temperature(
    scores: NDArray[float64], y: NDArray[uint32], sample_weight: NDArray[float64] | None = None
) -> float:
    """
    The temperature T at which softmax(scores/T) describes known classes best.
    """

def further(tried: list[tuple[float | None, float | None, list[float]]]) -> list[tuple[float | None, float | None]]:
    """
    The values of λ and p to try next, after some of the usual ones: those beyond the end where the best λ is.
    """

def grid(
    settings: Settings, *, lams: list[float] | None = None, ps: list[float] | None = None
) -> list[tuple[float | None, float | None]]:
    """
    The values of λ and p that a search with such settings tries, in its order: those given, or the library's usual ones for `None`.
    """

def memory_budget() -> int:
    """
    What a step that begins now may take, in bytes.
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
    tol: SupportsFloat | SupportsIndex | None = None,
    sample_weight: NDArray[float64] | None = None,
    n_threads: SupportsIndex | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> list[tuple[float | None, float | None, list[float]]]:
    """
    Tries all `lams` with all `ps` on splits (row numbers to train and to test on); `None` stands for the library's usual values.

    Returns λ, p and the accuracies by split of every setting. `progress(done, planned)` is called now and then.
    """

def set_memory_budget(size: str | None) -> None:
    """
    Sets the budget as it is typed; `None` is the default again.
    """
