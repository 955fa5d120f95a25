"""Estimators with a logistic loss, which defines probabilities."""

from __future__ import annotations

from typing import Literal

from ._batches import LearnsInBatches
from ._docs import documented
from ._kernels import KernelClassifier


class _LogisticMargin(LearnsInBatches, KernelClassifier):
    """A logistic loss with the penalty of M³SVM: everything but the name of the method."""

    _own_settings = ("p", "lam", "norm")
    _native_probabilities = True

    p: float = 4.0
    lam: float | Literal["auto"] = 1e-3
    norm: Literal["l2", "l1"] = "l2"


@documented
class ISM3Classifier(_LogisticMargin):
    """Softmax regression with the penalty of M³SVM (ISM³).

    Minimises ``sum_i w_i (log sum_k exp(z_ik) - z_{i,y_i}) + lam sum_{k<l} |w_k - w_l|^p + epsilon (|W|^2 + |b|^2)``.

    Parameters
    ----------
    <p>
    <lam>
        The strength of the penalty. With p = 2 and c classes it is ``1/(2 C c)`` for the C of ``LogisticRegression``
        (``1/(2 C)`` with two classes).
    <norm>
    <settings>

    Attributes
    ----------
    <attributes>

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from m3svm import ISM3Classifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ISM3Classifier(lam=1e-3, scale="standard").fit(X, y)
    >>> model.predict_proba(X[:1]).round(2)
    array([[0.99, 0.01, 0.  ]])
    """

    _method = "ism3"


@documented
class PairwiseLogisticRegression(_LogisticMargin):
    """Logistic loss on every pair of classes with the penalty of M³SVM.

    Minimises ``sum_i w_i sum_{k != y_i} log(1 + exp(z_ik - z_{i,y_i})) + lam sum_{k<l} |w_k - w_l|^p
    + epsilon (|W|^2 + |b|^2)``.

    Parameters
    ----------
    <p>
    <lam>
        The strength of the penalty.
    <norm>
    <settings>

    Attributes
    ----------
    <attributes>

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from m3svm import PairwiseLogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PairwiseLogisticRegression(lam=1e-3, scale="standard").fit(X, y)
    >>> model.predict_proba(X[:1]).round(2)
    array([[0.99, 0.01, 0.  ]])
    """

    _method = "pairwise-lr"


@documented
class MultinomialLogisticRegression(LearnsInBatches, KernelClassifier):
    """Multinomial logistic regression, solved to a certified optimum.

    Minimises ``sum_i w_i (log sum_k exp(z_ik) - z_{i,y_i}) + lam |W|^2 + epsilon (|W|^2 + |b|^2)``.

    Parameters
    ----------
    <lam>
        The strength of the ridge penalty: ``1/(2 C)`` for the C of ``LogisticRegression`` with three or more classes,
        ``1/C`` with two, where that one has a single vector.
    <settings>

    Attributes
    ----------
    <attributes>

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from m3svm import MultinomialLogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MultinomialLogisticRegression(lam=0.5).fit(X, y)
    >>> model.predict_proba(X[:1]).round(2)
    array([[0.98, 0.02, 0.  ]])
    """

    _method = "lr"
    _own_settings = ("lam",)
    _native_probabilities = True

    lam: float | Literal["auto"] = 0.5
