"""How much memory a fit may take: a question about the process, and so no parameter of an estimator."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from . import _core

_cache: Path | None = None


def memory_budget() -> int:
    """The bytes that a step which begins now may take.

    Returns
    -------
    int
        What :func:`set_memory_budget` has set, else four fifths of what is free at the moment.
    """
    return _core.memory_budget()


def set_memory_budget(size: int | str | None, *, cache: str | PathLike[str] | None = None) -> None:
    """Limit what a fit, a search or a table of scores may take; more is a ``MemoryError`` before anything is allocated.

    Rows that come in batches (see `fit`) and do not fit go to a cache on disk instead.

    Parameters
    ----------
    size : int, str or None
        Bytes, a text such as ``"2GB"`` or ``"512MiB"``, or None for the default: four fifths of what is free when a step
        begins.
    cache : str or path, optional
        A folder for such a cache, on a disk with room for all rows; None for the system's folder for temporary files. Nothing stays
        there.

    Examples
    --------
    >>> import m3svm
    >>> m3svm.set_memory_budget("2GB")
    >>> m3svm.memory_budget()
    2000000000
    >>> m3svm.set_memory_budget(None)
    """
    global _cache
    if cache is not None and not Path(cache).is_dir():
        raise FileNotFoundError(f"the folder for the cache does not exist: {cache}")
    _core.set_memory_budget(None if size is None else str(size))
    _cache = None if cache is None else Path(cache).absolute()


def cache_folder() -> Path | None:
    """Where rows go that do not fit into memory, if somebody has said so."""
    return _cache
