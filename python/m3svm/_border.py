"""Refuses an extension module from another build than the Python files: what they misunderstand would give wrong models in silence."""

from __future__ import annotations

from . import _core

# What both sides agree on. To be raised here and in crates/m3svm-python/src/lib.rs by every change after which files from before
# and files from now do not fit together: other arguments, other results, another meaning of either. It is not the version
# of the package, because sources change between versions, and extension modules stay where they were built.
BORDER = 8


def refuse_other_builds() -> None:
    """Raises ImportError unless the extension module is of the border that these files were written for."""
    found = getattr(_core, "BORDER", None)
    if found != BORDER:
        raise ImportError(
            f"the extension module {getattr(_core, '__file__', _core.__name__)} is of another build than the Python files of m3svm "
            f"(border {'unknown' if found is None else found}, expected {BORDER}), and models could be wrong: build it again, with "
            "`pip install .` or `maturin develop` in the clone"
        )
