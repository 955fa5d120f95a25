"""Messages to parts of the rows as jobs of Spark, each of which may be run again."""

from __future__ import annotations

import threading
import time
from typing import Any

from ._rows import ask

# How often a job is run again whose workers have died.
_AGAIN = 5


class SparkCarrier:
    """One job per message; answers come back in the order of parts."""

    def __init__(self, spark: Any, fit: str, meta: Any, parts: list[int], classes: Any) -> None:
        self._spark = spark
        self._fit = fit
        self._meta = meta
        self._parts = parts
        self._classes = classes
        self._group = f"m3svm-{fit}"
        self._done = threading.Event()
        self._found: list[bytes] | None = None
        self._problem: BaseException | None = None
        self.jobs = 0

    def send(self, parts: list[int], message: bytes) -> None:
        """Begins a round."""
        from pyspark import InheritableThread

        self._done, self._found, self._problem = threading.Event(), None, None
        numbers = [self._parts[part] for part in parts]
        InheritableThread(target=self._round, args=(numbers, message, self._done), daemon=True).start()

    def receive(self, seconds: float) -> list[bytes] | None:
        """The answers of the round, or None if they are not there yet."""
        if not self._done.wait(seconds):
            return None
        if self._problem is not None:
            raise self._problem
        return self._found

    def cancel(self) -> None:
        """Nobody wants the answers any more."""
        self._spark.sparkContext.cancelJobGroup(self._group)

    def _round(self, parts: list[int], message: bytes, done: threading.Event) -> None:
        try:
            found = self._collect(parts, message)
            if done is self._done:
                self._found = found
        except BaseException as problem:  # noqa: BLE001 - it is raised where the answers are waited for
            if done is self._done:
                self._problem = explained(problem)
        finally:
            done.set()

    def _collect(self, parts: list[int], message: bytes) -> list[bytes]:
        context = self._spark.sparkContext
        sent = context.broadcast(message)
        try:
            for left in reversed(range(_AGAIN)):
                context.setJobGroup(self._group, "m3svm", interruptOnCancel=True)
                self.jobs += 1
                try:
                    each = ask(self._fit, frozenset(parts), self._classes, sent)
                    answers = dict(self._meta.mapPartitions(each).collect())
                except Exception as problem:
                    # A job is as good the next time: Spark itself runs nothing again in local mode.
                    if left == 0 or not _died(problem):
                        raise
                    time.sleep(0.2)
                    continue
                lost = [part for part in parts if answers.get(part) is None]
                if not lost:
                    return [answers[part] for part in parts]
                # Files have gone with their workers: what wrote them writes them again.
                self._meta.unpersist(blocking=True)
                self._meta.persist()
            raise RuntimeError(
                f"partition {lost[0] + 1}: its rows have gone from the disk of the worker again and again"
            )
        finally:
            sent.destroy()


def _died(problem: BaseException) -> bool:
    text = str(problem)
    return "Python worker exited unexpectedly" in text or "ExecutorLostFailure" in text or "Connection reset" in text


def explained(problem: BaseException) -> BaseException:
    """What a failed job means to its user: the last line of what a worker has raised."""
    text = str(problem)
    if "No module named 'm3svm" in text:
        return RuntimeError("m3svm is not installed on the workers of Spark: install the version of the driver there")
    if "cancelled" in text and "Job" in text:
        return RuntimeError("the job was cancelled")
    for kind, raised in (("ValueError", ValueError), ("RuntimeError", RuntimeError)):
        found = [line for line in text.splitlines() if line.strip().startswith(f"{kind}: ")]
        if found:
            return raised(found[-1].split(": ", 1)[1])
    return problem
