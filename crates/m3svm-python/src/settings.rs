//! Settings of an estimator as a `Spec` of the library, and back.

use std::collections::BTreeMap;

use m3svm::penalty::{AUTO, Norm};
use m3svm::{AnyPenalty, AnySolver, ClassWeight, Gamma, Kernel, Method, Parameters, Scaling, Spec};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::error::invalid;
use crate::typed::{Settings, Typed};

/// Names of all methods.
#[pyfunction]
pub(crate) fn methods() -> Vec<&'static str> {
    Method::ALL.map(Method::name).to_vec()
}

/// The settings of a method that the library takes where none are given, with one λ for all data.
#[pyfunction]
pub(crate) fn default_settings<'py>(py: Python<'py>, method: &str) -> PyResult<Settings<'py>> {
    to_dict(py, &named("method", Method::ALL.map(|m| (m.name(), m)), method)?.spec().with_usual_lambda())
}

/// The spec that a dictionary of settings describes. What it leaves out keeps the method's default.
pub(crate) fn from_dict(Typed(settings): &Settings<'_>) -> PyResult<Spec> {
    let method: String = match settings.get_item("method")? {
        Some(name) => name.extract()?,
        None => return Err(invalid("settings need a `method`")),
    };
    let mut spec = named("method", Method::ALL.map(|m| (m.name(), m)), &method)?.spec().with_usual_lambda();
    // What belongs to a kernel is said to the kernel that is meant, whatever comes first.
    if let Some(name) = settings.get_item("kernel")? {
        spec.kernel = kernel(&typed::<String>("kernel", &name)?)?;
    }
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
        "lam" if spec.penalty.lambda().is_some() => spec.penalty = spec.penalty.with_lambda(lambda(value)?),
        "l1_ratio" if spec.penalty.l1_ratio().is_some() => {
            spec.penalty = spec.penalty.with_l1_ratio(typed(key, value)?);
        }
        "norm" => match &mut spec.penalty {
            AnyPenalty::Pairwise(pairwise) => pairwise.norm = named(key, NORMS, &typed::<String>(key, value)?)?,
            _ => return no_such_setting(),
        },
        // The methods of the top-k hinge are told apart by k.
        "k" if method != Method::Topk.name() => return no_such_setting(),
        name if spec.loss.has(name) => set(&mut spec.loss, key, value)?,
        name if name != "lambda" && spec.penalty.has(name) => set(&mut spec.penalty, key, value)?,
        "kernel" | "gamma" | "degree" | "coef0" | "rank" if method == Method::Smlr.name() => {
            return no_such_setting();
        }
        "kernel" => {}
        "gamma" => spec.kernel = spec.kernel.with_gamma(gamma(value)?),
        "degree" => {
            let new: u32 = typed(key, value)?;
            if let Kernel::Polynomial { degree, .. } = &mut spec.kernel {
                *degree = new;
            }
        }
        "coef0" => {
            let new: f64 = typed(key, value)?;
            if let Kernel::Polynomial { coef0, .. } = &mut spec.kernel {
                *coef0 = new;
            }
        }
        "rank" => spec.rank = typed(key, value)?,
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
        match spec.penalty.is_auto() {
            true => dict.set_item("lam", AUTO_NAME)?,
            false => dict.set_item("lam", lambda)?,
        }
    }
    if let Some(l1_ratio) = spec.penalty.l1_ratio() {
        dict.set_item("l1_ratio", l1_ratio)?;
    }
    if let AnyPenalty::Pairwise(pairwise) = spec.penalty {
        let name = NORMS.into_iter().find(|(_, norm)| *norm == pairwise.norm);
        dict.set_item("norm", name.map(|(name, _)| name))?;
    }
    numbers(&dict, &spec.penalty, "lambda")?;
    numbers(&dict, &spec.loss, if method == Method::Topk { "" } else { "k" })?;
    if method != Method::Smlr {
        dict.set_item("kernel", spec.kernel.name())?;
        match spec.kernel.gamma().unwrap_or_default() {
            Gamma::Value(value) => dict.set_item("gamma", value)?,
            named => dict.set_item("gamma", named.to_string())?,
        }
        let (degree, coef0) = match (spec.kernel, Kernel::ALL[2]) {
            (Kernel::Polynomial { degree, coef0, .. }, _) | (_, Kernel::Polynomial { degree, coef0, .. }) => {
                (degree, coef0)
            }
            _ => (3, 0.0),
        };
        dict.set_item("degree", degree)?;
        dict.set_item("coef0", coef0)?;
        dict.set_item("rank", spec.rank)?;
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

/// Sets a number as the library describes it.
fn set(owner: &mut impl Parameters, key: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let is_whole = owner.parameters().iter().any(|parameter| parameter.name == key && parameter.is_whole);
    let number = if is_whole { typed::<usize>(key, value)? as f64 } else { typed(key, value)? };
    owner.set(key, number);
    Ok(())
}

/// The numbers of an owner but one, which goes by another name or is none of the method's settings.
fn numbers(dict: &Bound<'_, PyDict>, owner: &impl Parameters, but: &str) -> PyResult<()> {
    for parameter in owner.parameters().iter().filter(|parameter| parameter.name != but) {
        match owner.get(parameter.name) {
            Some(count) if parameter.is_whole => dict.set_item(parameter.name, count as usize)?,
            number => dict.set_item(parameter.name, number)?,
        }
    }
    Ok(())
}

const NORMS: [(&str, Norm); 2] = [("l2", Norm::L2), ("l1", Norm::L1)];
const BALANCED: &str = "balanced";
const AUTO_NAME: &str = "auto";

/// The kernel of a name, with its default settings.
fn kernel(name: &str) -> PyResult<Kernel> {
    Kernel::of_name(name).ok_or_else(|| {
        let names: Vec<&str> = Kernel::ALL.iter().map(|kernel| kernel.name()).collect();
        invalid(format!("`kernel` must be one of {}, found {name:?}", names.join(", ")))
    })
}

/// A number, or that it is to be chosen from the data.
fn lambda(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let Ok(name) = value.cast::<PyString>() else { return typed("lam", value) };
    let name = name.to_cow()?;
    if name == AUTO_NAME {
        Ok(AUTO)
    } else {
        Err(invalid(format!("`lam` must be \"auto\" or a number, found {name:?}")))
    }
}

/// A number, or the name of how it is found.
fn gamma(value: &Bound<'_, PyAny>) -> PyResult<Gamma> {
    if let Ok(name) = value.cast::<PyString>() {
        let name = name.to_cow()?;
        let found = Gamma::parse(&name).filter(|gamma| !matches!(gamma, Gamma::Value(_)));
        return found
            .ok_or_else(|| invalid(format!("`gamma` must be \"scale\", \"auto\" or a number, found {name:?}")));
    }
    typed("gamma", value).map(Gamma::Value)
}

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
pub(crate) fn typed<'a, 'py, T: FromPyObject<'a, 'py>>(key: &str, value: &'a Bound<'py, PyAny>) -> PyResult<T> {
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
