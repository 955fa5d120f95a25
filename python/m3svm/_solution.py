"""What a fitted estimator keeps of its solution: arrays that say what the model says, and the model as plain data."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ._core import Model
from ._typing import Self


# An array of the solution. Predictions, margins and the proof come from the model, so another array in its place would be a
# silent lie. (Without a docstring of its own: it would be taken for that of the attribute.)
class OfSolution:
    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, estimator: None, owner: type) -> Self: ...
    @overload
    def __get__(self, estimator: object, owner: type) -> NDArray[np.float64]: ...
    def __get__(self, estimator: object | None, owner: type) -> Self | NDArray[np.float64]:
        if estimator is None:
            return self
        if self._name not in estimator.__dict__:
            raise AttributeError(f"{type(estimator).__name__!r} object has no attribute {self._name!r} before `fit`")
        values: NDArray[np.float64] = estimator.__dict__[self._name]
        return values

    def __set__(self, estimator: object, value: Any) -> None:
        raise AttributeError(
            f"`{self._name}` is what the training found, and cannot be set: the certificate, the margins and all "
            "predictions would be those of other weights"
        )

    @staticmethod
    def keep(estimator: object, name: str, values: NDArray[np.float64]) -> None:
        """Stores an array, closed to changes of its elements too."""
        values.setflags(write=False)
        estimator.__dict__[name] = values


def as_state(model: Model) -> dict[str, Any]:
    """The content of the model file, and iteration, objective and gap of every step of the training."""
    steps = [(step, objective, np.nan if gap is None else gap) for step, objective, gap in model.trace]
    return {"file": model.to_bytes(), "trace": np.array(steps, dtype=np.float64).reshape(-1, 3)}


def from_state(state: dict[str, Any]) -> Model:
    """The model that ``as_state`` was given."""
    trace = [(int(step), objective, None if np.isnan(gap) else gap) for step, objective, gap in state["trace"].tolist()]
    return Model.from_bytes(state["file"], trace)
