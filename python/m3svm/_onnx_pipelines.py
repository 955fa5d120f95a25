"""Estimators inside pipelines that skl2onnx turns into ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._base import LinearClassifier
from ._model_file import ESTIMATORS
from ._searches import SEARCHES


def register_skl2onnx() -> None:
    """Teach skl2onnx all estimators of this package, so that pipelines with one of them can be converted.

    Besides the label a converted pipeline gives what `predict_proba` says, or the scores of the classes (one column each, also
    with two classes) where there are no probabilities, or with the option ``raw_scores``. The options ``zipmap`` and ``nocl``
    are those of scikit-learn's own classifiers.

    Examples
    --------
    >>> import m3svm
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), m3svm.ISM3Classifier()).fit(X, y)
    >>> m3svm.register_skl2onnx()  # doctest: +SKIP
    >>> import skl2onnx  # doctest: +SKIP
    >>> graph = skl2onnx.to_onnx(pipeline, X[:1].astype("float32"))  # doctest: +SKIP
    """
    try:
        from skl2onnx import update_registered_converter
        from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
    except ImportError as problem:
        raise ImportError("pipelines are converted by skl2onnx, which `pip install skl2onnx` installs") from problem
    options = {"zipmap": [True, False, "columns"], "nocl": [True, False], "raw_scores": [True, False]}
    for estimator in (*ESTIMATORS, *SEARCHES):
        update_registered_converter(
            estimator,
            f"M3svm{estimator.__name__}",
            calculate_linear_classifier_output_shapes,
            _convert,
            options=options,
        )


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Adds the graph of `to_onnx` to that of a pipeline, with names that nothing else there has."""
    from onnx import TensorProto, helper, load_from_string, numpy_helper
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    estimator: LinearClassifier = operator.raw_operator
    options = container.get_options(estimator, {"nocl": False, "raw_scores": False})
    given, double = operator.inputs[0], isinstance(operator.inputs[0].type, DoubleTensorType)
    whole = load_from_string(estimator.to_onnx(dtype=np.float64 if double else np.float32))
    graph = whole.graph
    outputs = {output.name for output in graph.output}
    told = "probabilities" if "probabilities" in outputs and not options["raw_scores"] else "scores"

    names = {"X": given.full_name, "label": operator.outputs[0].full_name, told: operator.outputs[1].full_name}
    if not double and not isinstance(given.type, FloatTensorType):
        names["X"] = scope.get_unique_variable_name("as_float")
        container.add_node("Cast", given.full_name, names["X"], op_version=13, to=TensorProto.FLOAT)
    found = [tensor.name for tensor in graph.initializer] + [name for node in graph.node for name in node.output]
    names.update({name: scope.get_unique_variable_name(name) for name in found if name not in names})

    # skl2onnx has numbers for the truth values and for the classes that it is told to leave out.
    classes = _numbered(estimator.classes_, nocl=options["nocl"])
    (named,) = (node.input[0] for node in graph.node if "label" in node.output)
    for tensor in graph.initializer:
        if tensor.name == named and classes is not None:
            tensor.CopyFrom(numpy_helper.from_array(classes, named))
        tensor.name = names[tensor.name]
        container.initializers.append(tensor)
    for node in graph.node:
        inputs, results = ([names[name] for name in all] for all in (node.input, node.output))
        new = helper.make_node(node.op_type, inputs, results, name=scope.get_unique_operator_name("m3svm"))
        new.attribute.extend(node.attribute)
        container.nodes.append(new)
    for imported in whole.opset_import:
        container.node_domain_version_pair_sets.add((imported.domain, imported.version))


def _numbered(classes: NDArray[Any], *, nocl: bool) -> NDArray[np.int64] | None:
    """The classes as the integers that skl2onnx expects; None where the graph has what it expects."""
    if nocl or classes.dtype.kind == "b":
        return np.arange(len(classes), dtype=np.int64)
    if classes.dtype.kind == "f" and not (classes == classes.astype(np.int64)).all():
        raise ValueError("skl2onnx knows classes that are whole numbers or texts, found fractions")
    return None
