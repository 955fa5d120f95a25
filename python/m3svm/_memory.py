"""How much memory a fit may take: a question about the process, and so no parameter of an estimator."""

from __future__ import annotations

from . import _core


def memory_budget() -> int:
    """The bytes that a step which begins now may take.

    Returns
    -------
    int
        What :func:`set_memory_budget` has set, else four fifths of what is free at the moment.
    """
    return _core.memory_budget()


def set_memory_budget(size: int | str | None) -> None:
    """Limit what a fit, a search or a table of scores may take; more is a ``MemoryError`` before anything is allocated.

    Parameters
    ----------
    size : int, str or None
        Bytes, a text such as ``"2GB"`` or ``"512MiB"``, or None for the default: four fifths of what is free when a step
        begins.

    Examples
    --------
    >>> import m3svm
    >>> m3svm.set_memory_budget("2GB")
    >>> m3svm.memory_budget()
    2000000000
    >>> m3svm.set_memory_budget(None)
    """
    _core.set_memory_budget(None if size is None else str(size))
