"""Checks of settings."""

import math


def at_least(name: str, value: float, least: float) -> float:
    """``value`` as a float, refused below ``least`` and where it is no finite number."""
    number = float(value)
    if not (math.isfinite(number) and number >= least):
        raise ValueError(f"{name} must be a finite number of at least {least:g}, got {value!r}")
    return number
