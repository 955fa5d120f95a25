"""The choice of λ, and of p where there is one, by cross-validation: what all estimators that choose have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from ._base import LinearClassifier
from ._core import Model, choose, fit, further, grid, search
from ._data import TrainingData, class_names
from ._progress import print_search, warn_at_the_edge, warn_unless_converged
from ._settings import Settings
from ._typing import Self

_RULES = ("best-mean", "one-standard-error")
# Scores that differ by less are equal: they are means of the same numbers in another order.
_EQUAL = 1e-12


class Tried(NamedTuple):
    """One setting, with its score on every split."""

    lam: float | None
    p: float | None
    scores: list[float]


class Search(LinearClassifier):
    """Chooses `lam` by cross-validation, and trains on all rows with it."""

    lams: Iterable[float] | None = None
    cv: Any = 5
    scoring: str | Callable[..., float] | None = None
    rule: Literal["best-mean", "one-standard-error"] = "best-mean"
    search_tol: float = 1e-4

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Choose by cross-validation, then train on all rows.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features), or batches of rows
            Features; batches as for the estimators that do not choose. A search holds all rows in memory.
        y : array-like of shape (n_samples,) or str
            Labels of at least two classes: numbers or texts.
        sample_weight : array-like of shape (n_samples,) or str, optional
            Weights of at least 0. They count in training and in the score.
        **params : dict
            ``groups`` for the splitter. With scikit-learn's metadata routing (``enable_metadata_routing=True``), whatever the
            splitter and the scorer ask for; then weights count in a `scoring` that asks for them.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with self._all_or_nothing():
            for_splitter, for_scorer = self._routed(sample_weight, params)
            model = self._train(X, y, sample_weight, for_splitter=for_splitter, for_scorer=for_scorer)
        warn_unless_converged(type(self).__name__, model)
        for edge in self._edges():
            warn_at_the_edge(type(self).__name__, *edge)
        return self

    def _check_passing(self) -> None:
        raise ValueError(
            f"{type(self).__name__} chooses by cross-validation over rows in memory, and these take more than the budget "
            "(m3svm.set_memory_budget)"
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """What `fit` passes on to the splitter and to the scorer.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        if self.scoring is not None:
            scorer = check_scoring(self, scoring=self.scoring)
            router.add(scorer=scorer, method_mapping=MethodMapping().add(caller="fit", callee="score"))
        return router

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What goes to the splitter, and what goes to the scorer besides rows and labels."""
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        if not _routing():
            unknown = next((name for name in params if name != "groups"), None)
            if unknown is not None:
                raise TypeError(
                    f"fit() got an unexpected keyword argument {unknown!r}; without metadata routing it takes groups"
                )
            return params, weight
        routed = process_routing(self, "fit", **weight, **params)
        return dict(routed.splitter.split), {} if self.scoring is None else dict(routed.scorer.score)

    def _tuned(
        self,
        data: TrainingData,
        settings: Settings,
        *,
        for_splitter: dict[str, Any] | None = None,
        for_scorer: dict[str, Any] | None = None,
        **choice: Any,
    ) -> Settings:
        if self.rule not in _RULES:
            raise ValueError(f"`rule` must be one of {', '.join(_RULES)}, found {self.rule!r}")
        if isinstance(self.scoring, (list, tuple, set, dict)):
            raise TypeError(f"`scoring` must be one score to choose by, found {self.scoring!r}")
        if len(data.classes) < 2:
            raise ValueError(f"at least two classes are needed, found only one class ({data.classes[0]})")
        values = {name: None if given is None else [float(v) for v in given] for name, given in self._values().items()}
        folds = check_cv(self.cv, data.y, classifier=True).split(data.x, data.y, **(for_splitter or {}))
        splits = [(_row_numbers(train), _row_numbers(test)) for train, test in folds]
        progress = partial(print_search, type(self).__name__) if self.verbose else None
        # Weights that routing has to ask for are not for the library to count.
        if self.scoring is None or (self.scoring == "accuracy" and not _routing()):
            found = search(
                data.x,
                data.y,
                class_names(data.classes),
                settings,
                splits,
                **values,
                tol=self.search_tol,
                sample_weight=data.sample_weight,
                n_threads=self.n_threads,
                progress=progress,
            )
            tried = [Tried(*each) for each in found]
        else:
            tried, pairs = [], grid(settings, **values)
            while pairs:
                tried += self._scored(data, settings, pairs, splits, for_scorer or {}, progress)
                pairs = [] if self.lams is not None else further(list(tried))
            tried.sort(key=lambda each: (each.p or 0.0, -(each.lam or 0.0)))
        self._tell(tried)
        return {**settings, **self.best_params_}  # type: ignore[typeddict-item]

    def _values(self) -> dict[str, Iterable[float] | None]:
        """What is searched, by the names that the extension module has for it."""
        return {"lams": self.lams}

    def _scored(
        self,
        data: TrainingData,
        settings: Settings,
        pairs: list[tuple[float | None, float | None]],
        splits: list[tuple[NDArray[np.uint32], NDArray[np.uint32]]],
        for_scorer: dict[str, Any],
        progress: Callable[[int, int], None] | None,
    ) -> list[Tried]:
        """All settings by any score: one fit after the other, each from its neighbour's solution."""
        scorer = check_scoring(self, scoring=self.scoring)
        tried = [Tried(lam, p, []) for lam, p in pairs]
        for train, test in splits:
            inside, outside = data.rows(train), data.rows(test)
            labels = data.classes[outside.y]
            params = {name: _of_rows(value, test, len(data.y)) for name, value in for_scorer.items()}
            if "sample_weight" in params:
                params["sample_weight"] = outside.sample_weight
            last: Model | None = None
            first_of_p: Model | None = None
            for number, (lam, p, scores) in enumerate(tried):
                new_p = number == 0 or p != tried[number - 1].p
                values = {**settings, "tol": self.search_tol, **_named(lam, p)}
                last = self._fit_of_search(inside, values, first_of_p if new_p else last)  # type: ignore[arg-type]
                first_of_p = last if new_p else first_of_p
                judged = self._judged(last, inside, values)  # type: ignore[arg-type]
                score = float(scorer(judged, outside.x, labels, **params))
                if not np.isfinite(score):
                    raise ValueError(f"`scoring` must give finite numbers, found {score} for {_named(lam, p)}")
                scores.append(score)
                if progress is not None:
                    done = sum(len(each.scores) for each in tried)
                    progress(done, len(tried) * len(splits))
        return tried

    def _fit_of_search(self, rows: TrainingData, settings: Settings, start: Model | None) -> Model:
        names, weight = class_names(rows.classes), rows.sample_weight
        return fit(rows.x, rows.y, names, settings, sample_weight=weight, start=start, n_threads=self.n_threads)[0]

    def _judged(self, model: Model, rows: TrainingData, settings: Settings) -> LinearClassifier:
        """A fitted estimator for a scorer to look at. It estimates probabilities if it is asked for them."""
        judged = type(self).__new__(type(self))
        judged.__dict__.update(self.get_params(deep=False))
        judged._adopt(model, rows.classes)
        if self._estimates_probabilities():
            judged.__dict__["_late_temperature"] = partial(self._temperature, rows, settings, settings.get("seed"))
        return judged

    def _tell(self, tried: list[Tried]) -> None:
        """Chooses, and writes down what was tried as scikit-learn's searches do."""
        scores = np.array([each.scores for each in tried])
        means = scores.mean(axis=1)
        results: dict[str, Any] = {
            f"param_{name}": np.array([getattr(each, name) for each in tried]) for name in _named(*tried[0][:2])
        }
        results["params"] = [_named(each.lam, each.p) for each in tried]
        results.update({f"split{number}_test_score": column for number, column in enumerate(scores.T)})
        results["mean_test_score"], results["std_test_score"] = means, scores.std(axis=1)
        results["rank_test_score"] = rankdata(-np.round(means, 12), method="min").astype(np.int32)
        self.cv_results_ = results
        self._best_mean = choose(list(tried), "best-mean")
        self.best_index_ = choose(list(tried), self.rule)
        self.best_score_ = float(means[self.best_index_])
        self.best_params_: dict[str, float] = results["params"][self.best_index_]
        for name, value in self.best_params_.items():
            setattr(self, f"{name}_", value)

    def _edges(self) -> list[tuple[str, float, str]]:
        """Where the best of the tried values is the last one, and better than the one before by more than the standard error of
        the difference over splits, which chance brings about: further ones may be better still.
        """
        found = []
        settings = self.cv_results_["params"]
        splits = [column for name, column in self.cv_results_.items() if name.startswith("split")]
        scores = np.column_stack(splits)
        best = settings[self._best_mean]
        for name, value in best.items():
            alike = [
                k for k, s in enumerate(settings) if all(s[other] == best[other] for other in best if other != name)
            ]
            alike.sort(key=lambda k: settings[k][name])
            at = alike.index(self._best_mean)
            if len(alike) < 3 or at not in (0, len(alike) - 1):
                continue
            neighbour = alike[1] if at == 0 else alike[-2]
            # There is nothing below lam = 0, and no certificate below p = 1.
            last = at == 0 and (value <= 1 if name == "p" else value <= 0)
            ahead = scores[self._best_mean] - scores[neighbour]
            by_chance = ahead.std(ddof=1) / np.sqrt(len(ahead)) if len(ahead) > 1 else 0.0
            if not last and ahead.mean() > by_chance + _EQUAL:
                found.append((name, value, "smallest" if at == 0 else "largest"))
        return found


class PowerSearch(Search):
    """Chooses `p` as well."""

    ps: Iterable[float] | None = None

    def _values(self) -> dict[str, Iterable[float] | None]:
        return {"lams": self.lams, "ps": self.ps}


def _routing() -> bool:
    return bool(get_config()["enable_metadata_routing"])


def _named(lam: float | None, p: float | None) -> dict[str, float]:
    return {name: value for name, value in (("lam", lam), ("p", p)) if value is not None}


def _of_rows(value: Any, rows: NDArray[np.uint32], number: int) -> Any:
    """The part of some metadata that belongs to rows, if it is one value per row."""
    return np.asarray(value)[rows] if hasattr(value, "__len__") and len(value) == number else value


def _row_numbers(rows: Any) -> NDArray[np.uint32]:
    rows = np.asarray(rows)
    return np.require(np.flatnonzero(rows) if rows.dtype == bool else rows, np.uint32, ["C", "ALIGNED"])
