//! Settings of an estimator as a `Spec` of the library, and back.

use std::collections::BTreeMap;

use m3svm::penalty::Norm;
use m3svm::{AnyLoss, AnyPenalty, AnySolver, ClassWeight, Method, Scaling, Spec};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::error::invalid;
use crate::typed::{Settings, Typed};

/// Names of all methods.
#[pyfunction]
pub(crate) fn methods() -> Vec<&'static str> {
    Method::ALL.map(Method::name).to_vec()
}

/// The settings of a method that the library takes where none are given.
#[pyfunction]
pub(crate) fn default_settings<'py>(py: Python<'py>, method: &str) -> PyResult<Settings<'py>> {
    to_dict(py, &named("method", Method::ALL.map(|m| (m.name(), m)), method)?.spec())
}

/// The spec that a dictionary of settings describes. What it leaves out keeps the method's default.
pub(crate) fn from_dict(Typed(settings): &Settings<'_>) -> PyResult<Spec> {
    let method: String = match settings.get_item("method")? {
        Some(name) => name.extract()?,
        None => return Err(invalid("settings need a `method`")),
    };
    let mut spec = named("method", Method::ALL.map(|m| (m.name(), m)), &method)?.spec();
    for (key, value) in settings {
        let key: String = key.extract()?;
        apply(&mut spec, &method, &key, &value)?;
    }
    spec.check().map_err(crate::error::exception)?;
    Ok(spec)
}

fn apply(spec: &mut Spec, method: &str, key: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let no_such_setting = || Err(invalid(format!("`{key}` is not a setting of the method {method}")));
    match key {
        "method" => {}
        "lam" if spec.penalty.lambda().is_some() => spec.penalty = spec.penalty.with_lambda(typed(key, value)?),
        "p" if spec.penalty.p().is_some() => spec.penalty = spec.penalty.with_p(typed(key, value)?),
        "norm" => match &mut spec.penalty {
            AnyPenalty::Pairwise(pairwise) => pairwise.norm = named(key, NORMS, &typed::<String>(key, value)?)?,
            _ => return no_such_setting(),
        },
        "delta" => match &mut spec.loss {
            AnyLoss::SmoothHinge(hinge) => hinge.delta = typed(key, value)?,
            AnyLoss::TopKHinge(hinge) => hinge.delta = typed(key, value)?,
            _ => return no_such_setting(),
        },
        "k" => match &mut spec.loss {
            AnyLoss::TopKHinge(hinge) if method == Method::Topk.name() => hinge.k = typed(key, value)?,
            _ => return no_such_setting(),
        },
        "epsilon" => spec.epsilon = typed(key, value)?,
        "fit_intercept" => spec.intercept = typed(key, value)?,
        "scale" => {
            spec.scaling = named(key, Scaling::ALL.map(|s| (s.name(), s)), &typed::<String>(key, value)?)?;
        }
        "class_weight" => spec.class_weight = class_weight(value)?,
        "solver" => {
            spec.solver = named(key, AnySolver::examples().map(|s| (s.name(), s)), &typed::<String>(key, value)?)?;
        }
        "tol" => spec.tol = typed(key, value)?,
        "max_iter" => spec.max_iter = typed(key, value)?,
        "seed" => spec.seed = typed(key, value)?,
        _ => return no_such_setting(),
    }
    Ok(())
}

/// The settings as a dictionary that [`from_dict`] turns into the same spec. Fails for a spec that no method describes.
pub(crate) fn to_dict<'py>(py: Python<'py>, spec: &Spec) -> PyResult<Settings<'py>> {
    let Some(method) = Method::of(spec) else {
        return Err(invalid(format!(
            "no estimator trains this combination of loss ({}) and penalty ({})",
            spec.loss.as_dyn().describe(),
            spec.penalty.as_dyn().describe()
        )));
    };
    let dict = PyDict::new(py);
    dict.set_item("method", method.name())?;
    if let Some(lambda) = spec.penalty.lambda() {
        dict.set_item("lam", lambda)?;
    }
    if let AnyPenalty::Pairwise(pairwise) = spec.penalty {
        dict.set_item("p", pairwise.p)?;
        let name = NORMS.into_iter().find(|(_, norm)| *norm == pairwise.norm);
        dict.set_item("norm", name.map(|(name, _)| name))?;
    }
    match spec.loss {
        AnyLoss::SmoothHinge(hinge) => dict.set_item("delta", hinge.delta)?,
        AnyLoss::TopKHinge(hinge) => dict.set_item("delta", hinge.delta)?,
        AnyLoss::Softmax(_) | AnyLoss::PairwiseLogistic(_) => {}
    }
    if let AnyLoss::TopKHinge(hinge) = spec.loss
        && method == Method::Topk
    {
        dict.set_item("k", hinge.k)?;
    }
    dict.set_item("epsilon", spec.epsilon)?;
    dict.set_item("fit_intercept", spec.intercept)?;
    dict.set_item("scale", spec.scaling.name())?;
    match &spec.class_weight {
        ClassWeight::None => dict.set_item("class_weight", py.None())?,
        ClassWeight::Balanced => dict.set_item("class_weight", BALANCED)?,
        ClassWeight::Each(each) => dict.set_item("class_weight", each)?,
    }
    dict.set_item("solver", spec.solver.name())?;
    dict.set_item("tol", spec.tol)?;
    dict.set_item("max_iter", spec.max_iter)?;
    dict.set_item("seed", spec.seed)?;
    Ok(Typed(dict))
}

const NORMS: [(&str, Norm); 2] = [("l2", Norm::L2), ("l1", Norm::L1)];
const BALANCED: &str = "balanced";

fn class_weight(value: &Bound<'_, PyAny>) -> PyResult<ClassWeight> {
    if value.is_none() {
        return Ok(ClassWeight::None);
    }
    if let Ok(name) = value.cast::<PyString>() {
        return named("class_weight", [(BALANCED, ClassWeight::Balanced)], &name.to_cow()?);
    }
    Ok(ClassWeight::Each(typed::<BTreeMap<String, f64>>("class_weight", value)?))
}

/// A value of the right type. Integers that do not fit are wrong values, everything else is a wrong type.
fn typed<'a, 'py, T: FromPyObject<'a, 'py>>(key: &str, value: &'a Bound<'py, PyAny>) -> PyResult<T> {
    value.extract::<T>().map_err(|problem| {
        let problem: PyErr = problem.into();
        let py = value.py();
        let message = format!("`{key}`: {}", problem.value(py));
        if problem.is_instance_of::<pyo3::exceptions::PyOverflowError>(py) {
            return invalid(message);
        }
        pyo3::exceptions::PyTypeError::new_err(message)
    })
}

/// The thing behind a name.
pub(crate) fn named<T, const N: usize>(key: &str, all: [(&str, T); N], name: &str) -> PyResult<T> {
    let names = all.each_ref().map(|(name, _)| *name).join(", ");
    all.into_iter()
        .find_map(|(known, thing)| (known == name).then_some(thing))
        .ok_or_else(|| invalid(format!("`{key}` must be one of {names}, found {name:?}")))
}
