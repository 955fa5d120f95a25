"""Parameters of estimators, declared once.

scikit-learn reads the parameters of an estimator from the signature of its ``__init__``. Nearly all of ours share a dozen
of them, so they are declared like the fields of a dataclass, and every class gets an ``__init__`` with its own and those
of its bases. Type checkers and editors understand the declaration. Real dataclasses would be taken apart field by field by
tools that treat them as plain data, and lose what was trained.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:
        """Only type checkers look at it."""
        return lambda cls: cls


Value = TypeVar("Value")


@dataclass_transform(kw_only_default=True, eq_default=False)
class Parameters:
    """Gives subclasses an ``__init__`` that takes the annotated names of their bodies, by keyword, and stores them.

    A subclass that writes one itself keeps it, and so do the classes below it.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        written = next(base.__dict__["__init__"] for base in cls.__mro__ if "__init__" in base.__dict__)
        if written is object.__init__ or hasattr(written, _OURS):
            cls.__init__ = _initialiser(cls)  # type: ignore[method-assign]


# Marks an ``__init__`` that was made here.
_OURS = "_m3svm_parameters"


def _initialiser(cls: type) -> Any:
    parameters = _declared(cls)
    defaults = {parameter.name: parameter.default for parameter in parameters}

    def __init__(self: Any, **given: Any) -> None:
        unknown = next((name for name in given if name not in defaults), None)
        if unknown is not None:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument {unknown!r}")
        for name, default in defaults.items():
            setattr(self, name, given.get(name, default))

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [itself, *parameters], return_annotation="None"
    )
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    __init__.__module__ = cls.__module__
    setattr(__init__, _OURS, True)
    return __init__


def _declared(cls: type) -> list[inspect.Parameter]:
    """The parameters of a class, its own before those of its bases. The most derived declaration and value count."""
    found: dict[str, inspect.Parameter] = {}
    for base in cls.__mro__:
        for name, annotation in inspect.get_annotations(base).items():
            if issubclass(base, Parameters) and _is_parameter(cls, name, annotation) and name not in found:
                found[name] = inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=getattr(cls, name), annotation=annotation
                )
    return list(found.values())


def _is_parameter(cls: type, name: str, annotation: Any) -> bool:
    """Whether an annotated name has a value to start from, and is not said to belong to the class."""
    return hasattr(cls, name) and not str(annotation).removeprefix("typing.").startswith("ClassVar")
