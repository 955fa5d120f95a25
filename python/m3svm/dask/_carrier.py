"""Messages to parts of the rows as tasks of Dask, which may run anywhere and be run again."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from distributed import Client, wait

from ._blocks import answer_block

# Seconds without any worker after which none is expected any more.
_WITHOUT_WORKERS = 60.0


class DaskCarrier:
    """One task per part and message; answers come back in the order of parts."""

    def __init__(self, client: Client, fit: str, parts: list[tuple[int, Any]], classes: Any) -> None:
        self._client = client
        self._fit = fit
        self._parts = parts
        self._classes = classes
        self._futures: list[Any] = []
        self._empty_since: float | None = None

    def send(self, parts: list[int], message: bytes) -> None:
        """Begins a round."""
        chosen = [self._parts[part] for part in parts]
        self._futures = self._client.map(
            answer_block,
            [block for _, block in chosen],
            [number for number, _ in chosen],
            fit=self._fit,
            classes=self._classes,
            message=message,
            pure=False,
            key=f"m3svm-{self._fit[:8]}",
        )

    def receive(self, seconds: float) -> list[bytes] | None:
        """The answers of the round, or None if they are not there yet."""
        answers: list[bytes] | None = gathered(self, self._client, self._futures, seconds)
        if answers is not None:
            for future in self._futures:
                future.release()
            self._futures = []
        return answers

    def cancel(self) -> None:
        """Nobody wants the answers any more."""
        self._client.cancel(self._futures)
        self._futures = []

    def without_workers(self) -> bool:
        """Whether there has been nobody to answer for too long."""
        if self._client.scheduler_info(n_workers=0).get("n_workers", 1) > 0:
            self._empty_since = None
            return False
        self._empty_since = self._empty_since or time.monotonic()
        return time.monotonic() - self._empty_since > _WITHOUT_WORKERS


def gathered(carrier: DaskCarrier | None, client: Client, futures: list[Any], seconds: float | None) -> Any:
    """Results in order, or None if they are not there within so many seconds. A failure ends the wait at once."""
    try:
        wait(futures, timeout=seconds, return_when="ALL_COMPLETED")
    except (TimeoutError, asyncio.TimeoutError):
        if not any(future.status in ("error", "cancelled", "lost") for future in futures):
            if carrier is not None and carrier.without_workers():
                raise RuntimeError(f"the Dask cluster has had no workers for {_WITHOUT_WORKERS:g} seconds") from None
            return None
    except Exception as problem:
        raise explained(problem) from problem
    try:
        return client.gather(futures)
    except Exception as problem:
        raise explained(problem) from problem


def explained(problem: Exception) -> Exception:
    """What a failure of a task means to its user."""
    if isinstance(problem, ModuleNotFoundError) and (problem.name or "").startswith("m3svm"):
        return RuntimeError("m3svm is not installed on the workers of Dask: install the version of the client there")
    if type(problem).__name__ in ("CancelledError", "FutureCancelledError", "FuturesCancelledError"):
        return RuntimeError(f"the work was cancelled, or the Dask cluster is gone: {problem}")
    if type(problem).__name__ == "KilledWorker":
        return RuntimeError(f"the workers of Dask died again and again: {problem}")
    return problem
