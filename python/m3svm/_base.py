"""The estimator that all others are: checks, training, predictions and what a fitted one knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._core import Frame, GatheredRows, Model, check_passing, fit
from ._data import (
    TrainingData,
    class_names,
    class_weight_by_name,
    features,
    label_kind,
    to_push,
    training_data,
    warn_of_left_out,
)
from ._export import Exports
from ._memory import cache_folder, memory_budget
from ._parameters import Parameters
from ._probability import probabilities_at, temperature_by_cross_validation
from ._progress import ProgressLine, warn_of_missing_probabilities, warn_unless_converged
from ._settings import Preparation, Settings
from ._solution import OfSolution, as_state, from_state
from ._sources import Labels, Source, named_batch, source_of
from ._typing import Self

ClassWeight = dict[Any, float] | Literal["balanced"] | None
Scale = Literal["auto", "none", "standard", "maxabs", "minmax"] | None
Solver = Literal["auto", "newton", "lbfgs", "adam", "proximal", "dual"]
# The share of the budget that rows may take to be held at once.
_HELD = 1 / 3

RandomState = int | np.random.RandomState | None


def _gives_probabilities(estimator: LinearClassifier) -> bool:
    if estimator._native_probabilities or getattr(estimator, "probability", False):
        return True
    raise AttributeError(
        f"the loss of {type(estimator).__name__} defines no probabilities; probability=True estimates them"
    )


class LinearClassifier(Parameters, Exports, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One linear scorer per class (or per pair of classes), trained to a certified optimum."""

    # The name of the method in the library.
    _method: ClassVar[str]
    # Parameters of the estimator that are settings of its method, besides those that all methods have.
    _own_settings: ClassVar[tuple[str, ...]]
    # Whether the loss itself defines probabilities.
    _native_probabilities: ClassVar[bool] = False
    # How to estimate the temperature once somebody asks for probabilities, in the fits of a search.
    _late_temperature: ClassVar[Any] = None

    _common_settings: ClassVar[tuple[str, ...]] = (
        "epsilon",
        "fit_intercept",
        "scale",
        "solver",
        "tol",
        "max_iter",
    )

    epsilon: float = 1e-6
    fit_intercept: bool = True
    scale: Scale = "auto"
    preparation: Preparation | Literal["auto"] | None = "auto"
    class_weight: ClassWeight = None
    solver: Solver = "auto"
    tol: float = 1e-8
    max_iter: int | None = None
    warm_start: bool = False
    n_threads: int | None = None
    random_state: RandomState = None
    verbose: int = 0
    on_interrupt: Literal["raise", "keep"] = "raise"

    coef_ = OfSolution()
    intercept_ = OfSolution()
    scorer_coef_ = OfSolution()
    scorer_intercept_ = OfSolution()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on labelled rows.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features), or batches of rows
            Features. ``float32`` and ``float64`` arrays in row or column order, columns of numbers of pandas, Polars and
            Arrow, and the values of CSR matrices are used where they lie, unless they are to be scaled; everything else
            is converted, which costs one copy. Rows need not fit into memory (:func:`m3svm.set_memory_budget`) if X is an iterator
            over batches ``(X, y)`` or ``(X, y, sample_weight)``, a function that returns one, a lazy frame of Polars, a dataset or
            a reader of Arrow, or a memory map of NumPy.
        y : array-like of shape (n_samples,) or str
            Labels of at least two classes: numbers or texts. The name of a column where X has columns and comes in batches; nothing
            where batches bring their labels with them.
        sample_weight : array-like of shape (n_samples,) or str, optional
            Weights of at least 0. A whole number means the same as repeating the row that often. As `y`, it may be the name of
            a column.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with self._all_or_nothing():
            model = self._train(X, y, sample_weight)
        warn_unless_converged(type(self).__name__, model)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of the classes; the highest one wins.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            With two classes, positive speaks for ``classes_[1]``, and the margin ends at 1 and -1.
        """
        check_is_fitted(self)
        if len(self.classes_) > 2:
            return self._class_scores(X)
        return self._as_one(self._model.raw_scores(features(self, X), self.n_threads).T)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Elements of ``classes_``.
        """
        check_is_fitted(self)
        numbers = self._model.predict(features(self, X), self.n_threads)
        return np.asarray(self.classes_[numbers])

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes.

        They come from the loss itself where it defines them. Otherwise, with ``probability=True``, they are
        softmax(scores/T), where the temperature T makes scores from a cross-validation most likely.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Every row sums to 1.
        """
        check_is_fitted(self)
        if self._native_probabilities:
            probabilities = self._model.probabilities(features(self, X), self.n_threads)
            assert probabilities is not None, "the loss defines probabilities"
            return probabilities
        temperature = self._own_temperature()
        if temperature is None:
            raise AttributeError("only a fit with probability=True estimates probabilities; fit again to get them")
        return probabilities_at(self._class_scores(X), temperature)

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model file that the command line and :func:`m3svm.load` read.

        It holds the settings, the classes and whether they are texts, numbers or truth values, the weights, the certificate
        and the temperature behind estimated probabilities; not ``support_``, nor the way of the training. Pickle the
        estimator to keep everything. Equal fits write equal files.

        Parameters
        ----------
        path : str or path
            The file; replaced as a whole, or not at all.
        """
        check_is_fitted(self)
        self._model.described(label_kind(self.classes_), self._own_temperature()).save(path)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A training that fails leaves no trace: neither the width of its data nor half a model."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _train(self, X: Any, y: Any, sample_weight: Any, **choice: Any) -> Model:
        """Trains and takes over what came out. `choice` is for estimators that choose settings from the data."""
        if self.on_interrupt not in ("raise", "keep"):
            raise ValueError(f'`on_interrupt` must be "raise" or "keep", found {self.on_interrupt!r}')
        budget = memory_budget()
        source = source_of(X, y, sample_weight, budget)
        if source is None:
            return self._train_held(X, y, sample_weight, **choice)
        whole = source.whole(int(budget * _HELD))
        if whole is None:
            self._check_passing()
            return self._train_passing(source)
        try:
            return self._train_held(*whole, **choice)
        except MemoryError:
            try:
                self._check_passing()
            except ValueError:
                pass
            else:
                del whole
                return self._train_passing(source)
            raise

    def _train_held(self, X: Any, y: Any, sample_weight: Any, **choice: Any) -> Model:
        """The same for rows in memory."""
        data = training_data(self, X, y, sample_weight)
        estimates = self._estimates_probabilities()
        seed = self._seed(draw=estimates)
        settings = self._settings(seed, data.classes)
        if self.scale == "auto" and isinstance(data.x, Frame):
            # Nobody could have scaled these before.
            settings["scale"] = "standard"
        settings = self._tuned(data, settings, **choice)
        line = ProgressLine(type(self).__name__) if self.verbose else None
        model, support = fit(
            data.x,
            data.y,
            class_names(data.classes),
            settings,
            sample_weight=data.sample_weight,
            feature_names=None if isinstance(data.x, Frame) else self._feature_names(),
            start=getattr(self, "_model", None) if self.warm_start else None,
            n_threads=self.n_threads,
            progress=None if line is None else line.step,
            keep_interrupted=self.on_interrupt == "keep",
        )
        if line is not None:
            line.finish(model)
        temperature = None
        if estimates and model.stop != "interrupted":
            # Folds take what was chosen on all rows: another choice in each of them would cost five more.
            settings = {**settings, "lam": model.settings["lam"]}
            try:
                temperature = self._temperature(data, settings, seed)
            except KeyboardInterrupt:
                if self.on_interrupt != "keep":
                    raise
                warn_of_missing_probabilities(type(self).__name__)
        self._adopt(model, data.classes)
        if temperature is not None:
            self.temperature_ = temperature
        if support is not None and model.support is None:
            # A row that counts nothing supports nothing.
            counts = slice(None) if data.sample_weight is None else data.sample_weight[support] > 0
            self.support_ = support[counts].astype(np.intp)
        return model

    def _check_passing(self) -> None:
        """Refuses what needs all rows at once, before they are gone through."""
        if self._estimates_probabilities():
            raise ValueError(
                "probability=True needs all rows in memory, and these take more than the budget (m3svm.set_memory_budget)"
            )
        settings = self._settings(None, np.empty(0))
        settings.pop("class_weight", None)
        check_passing(settings)

    def _train_passing(self, source: Source) -> Model:
        """Trains on rows that do not fit into memory: they go to a cache on disk, and are read from there."""
        rows, labels, name = GatheredRows(cache_folder()), Labels(), type(self).__name__
        line = ProgressLine(name) if self.verbose else None
        self.__dict__.pop("_means", None)
        again, number_of_pass = True, 0
        while again:
            number_of_pass += 1
            read = 0
            for batch in source.batches():
                with named_batch(batch.number):
                    x, how = to_push(self, batch.x, first=number_of_pass == 1 and read == 0)
                    rows.push(x, labels.numbers(batch.y), labels.names, sample_weight=batch.weight, settings=how)
                read += len(batch.y)
                if line is not None:
                    line.reading(read, number_of_pass)
            again = rows.pass_ended()
            if again and not source.repeats:
                raise ValueError(
                    "columns of texts, times or with gaps are learnt from all rows first, and these batches can be had only once; "
                    "pass a function that returns them, or a dataset"
                )
        classes = labels.classes()
        rows.finish(text_labels=classes.dtype.kind == "U", feature_names=self._feature_names())
        warn_of_left_out(rows.left_out, frames=4)
        settings = self._settings(self._seed(draw=False), classes)
        if self.scale == "auto" and rows.prepared:
            settings["scale"] = "standard"
        if rows.means is not None:
            # New rows may have gaps.
            self._means = np.array(rows.means)
        model = rows.fit(
            settings,
            start=getattr(self, "_model", None) if self.warm_start else None,
            n_threads=self.n_threads,
            progress=None if line is None else line.step,
            keep_interrupted=self.on_interrupt == "keep",
        )
        if line is not None:
            line.finish(model)
        self._adopt(model, classes)
        return model

    def _class_scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self._model.scores(features(self, X), self.n_threads)

    def _as_one(self, scorers: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the scorers of two classes, along the first axis, say as one: positive for the second class."""
        return np.asarray(scorers[1] - scorers[0])

    def _settings(self, seed: int | None, classes: NDArray[Any]) -> Settings:
        settings: dict[str, Any] = {"method": self._method}
        if seed is not None:
            settings["seed"] = seed
        for name in self._own_settings + self._common_settings:
            settings[name] = getattr(self, name)
        if self.scale in (None, "auto"):
            settings["scale"] = "none"
        settings["class_weight"] = class_weight_by_name(self.class_weight, classes)
        return settings  # type: ignore[return-value]

    def _tuned(self, data: TrainingData, settings: Settings, **choice: Any) -> Settings:
        """The settings to train with, where they depend on the data."""
        return settings

    def _estimates_probabilities(self) -> bool:
        return not self._native_probabilities and bool(getattr(self, "probability", False))

    def _seed(self, *, draw: bool) -> int | None:
        """The seed that was set; one that is drawn, if anything is random; else none, and no generator moves on."""
        # scikit-learn's own check, of ranges too.
        generator = check_random_state(self.random_state)
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(generator.randint(2**31)) if draw else None

    def _own_temperature(self) -> float | None:
        if self._late_temperature is not None:
            self.temperature_ = self.__dict__.pop("_late_temperature")()
        return getattr(self, "temperature_", None)

    def _feature_names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _temperature(self, data: TrainingData, settings: Settings, seed: int | None) -> float:
        names = class_names(data.classes)

        def train(part: TrainingData) -> Model:
            return fit(part.x, part.y, names, settings, sample_weight=part.sample_weight, n_threads=self.n_threads)[0]

        return temperature_by_cross_validation(data, train, self.n_threads, 0 if seed is None else seed)

    def _adopt(self, model: Model, classes: NDArray[Any]) -> None:
        """Takes over everything that a model knows."""
        for name in (
            "support_",
            "n_passes_",
            "temperature_",
            "_moments",
            "coef_",
            "scorer_coef_",
            "prepared_feature_names_",
        ):
            self.__dict__.pop(name, None)
        self._model = model
        self.classes_ = classes
        columns = model.column_names
        if columns is None:
            self.n_features_in_ = model.n_features
        else:
            # Those of X are known; a model file has the ones that are used.
            self.n_features_in_ = getattr(self, "n_features_in_", len(columns))
            self.prepared_feature_names_ = np.array(model.feature_names, dtype=object)
        scorers = {"intercept_": model.intercept}
        if model.support is None:
            # A kernel has no weights of features.
            scorers["coef_"] = model.coef
        for name, values in scorers.items():
            OfSolution.keep(self, f"scorer_{name}", values)
            OfSolution.keep(self, name, self._as_one(values)[np.newaxis] if len(classes) == 2 else values)
        self.margins_ = model.margins
        self.min_margin_ = model.min_margin
        self.objective_ = model.objective
        self.dual_gap_ = np.nan if model.relative_gap is None else model.relative_gap
        self.n_iter_ = model.iterations
        if model.passes is not None:
            self.n_passes_ = model.passes
        self._adopt_lambda(model)

    def _adopt_lambda(self, model: Model) -> None:
        self.lam_ = model.settings["lam"]
        choice = model.lambda_choice
        self.__dict__.pop("lambda_choice_", None)
        if choice is None:
            return
        (folds, rows, used, fits), evaluations, tried = choice
        names = ("lam", "folds", "accuracy", "log_loss")
        self.lambda_choice_ = {
            "folds": folds,
            "rows": rows,
            "used": used,
            "fits": fits,
            "evaluations": evaluations,
            "tried": [dict(zip(names, each, strict=True)) for each in tried],
        }

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __getstate__(self) -> dict[str, Any]:
        """Plain data for pickles and for formats that run nothing: the model as the content of its file."""
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_model"] = as_state(state["_model"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(dict(state))
        if "_model" in state:
            self._model = from_state(state["_model"])
            for name in ("coef_", "intercept_", "scorer_coef_", "scorer_intercept_", "dual_coef_"):
                if name in state:
                    OfSolution.keep(self, name, state[name])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
