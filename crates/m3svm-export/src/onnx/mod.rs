//! A classifier as an ONNX graph of standard operators.
//!
//! ```text
//! X [N, d] ──► scorers ──► (votes of pairs) ──► scores [N, c] ──► label [N]
//!                                                  └────────────► probabilities [N, c], where there are any
//! ```
//!
//! Where features are made of columns of a table, every column is an input [N, 1] of its own under its name.
//!
//! Sums are taken in double precision, whatever type X has. In single precision, features far from zero would cost most digits of the
//! scores, and with them the label of rows that are close to call.

mod builder;
mod columns;
mod messages;

use m3svm::Kernel;
use prost::Message;

use self::builder::Builder;
use self::messages::{Element, Entry, Model, OperatorSet};
use crate::portable::{Portable, PortableKernel};
use crate::{Labels, Precision};

/// The oldest set of operators with a softmax over one axis, and the oldest file version that has it.
const OPERATORS: i64 = 13;
const FILE_VERSION: i64 = 7;
/// The oldest set of operators with an encoder of texts.
const LEARNING_OPERATORS: i64 = 1;

/// The bytes of the model file.
pub(crate) fn graph(model: &Portable<'_>, precision: Precision, labels: Labels) -> Vec<u8> {
    let mut graph = Builder::default();
    let outside = match precision {
        Precision::Single => Element::Float,
        Precision::Double => Element::Double,
    };
    let x = match model.preprocessor {
        Some(preprocessor) => columns::features(&mut graph, preprocessor, precision, outside),
        None => {
            graph.input("X", outside, model.features);
            match precision {
                Precision::Single => graph.cast("X", Element::Double, "double_X"),
                Precision::Double => "X".into(),
            }
        }
    };
    let scores = scores(&mut graph, model, &x);
    label(&mut graph, model, labels, &scores);
    publish(&mut graph, model, precision, outside, &scores, "scores");
    if let Some(temperature) = model.temperature {
        let temperature = graph.numbers("temperature", &[], [temperature].into_iter());
        let divided = graph.node("Div", &[&scores, &temperature], "tempered_scores", &[]);
        let probabilities = graph.node("Softmax", &[&divided], "double_probabilities", &[("axis", 1)]);
        publish(&mut graph, model, precision, outside, &probabilities, "probabilities");
    }
    let file = Model {
        ir_version: FILE_VERSION,
        producer_name: "m3svm".into(),
        producer_version: env!("CARGO_PKG_VERSION").into(),
        graph: Some(graph.finish("m3svm")),
        operators: operators(model),
        metadata: metadata(model),
    };
    file.encode_to_vec()
}

/// The sets of operators in use.
fn operators(model: &Portable<'_>) -> Vec<OperatorSet> {
    let standard = OperatorSet { domain: Some(String::new()), version: OPERATORS };
    let learning = OperatorSet { domain: Some(builder::LEARNING.into()), version: LEARNING_OPERATORS };
    std::iter::once(standard).chain(model.preprocessor.map(|_| learning)).collect()
}

/// Scores of the classes in double precision.
fn scores(graph: &mut Builder, model: &Portable<'_>, x: &str) -> String {
    let (d, m) = (model.features, model.scorers());
    let intercept = graph.numbers("intercept", &[m], model.intercept.iter().copied());
    let products = match &model.kernel {
        None => {
            let by_feature = (0..d).flat_map(|j| (0..m).map(move |k| (k, j))).map(|(k, j)| model.scorer(k)[j]);
            let weights = graph.numbers("weights", &[d, m], by_feature);
            graph.node("MatMul", &[x, &weights], "products", &[])
        }
        Some(kernel) => {
            let values = kernel_values(graph, kernel, d, x);
            let coefficients = graph.numbers("coefficients", &[kernel.count, m], kernel.coefficients.iter().copied());
            graph.node("MatMul", &[&values, &coefficients], "products", &[])
        }
    };
    let said = graph.node("Add", &[&products, &intercept], "scorers", &[]);
    if model.votes() { votes(graph, model, &said) } else { said }
}

/// Values of the kernel, one column per row that the model keeps.
fn kernel_values(graph: &mut Builder, kernel: &PortableKernel, d: usize, x: &str) -> String {
    let s = kernel.count;
    let (mut shift, mut rows) = (kernel.shift.clone(), kernel.rows.clone());
    if let Kernel::Rbf { .. } = kernel.kernel {
        // Distances do not change, and the products that they are computed from lose fewer digits.
        for j in 0..d {
            let mean = rows.iter().skip(j).step_by(d).sum::<f64>() / s.max(1) as f64;
            rows.iter_mut().skip(j).step_by(d).for_each(|v| *v -= mean);
            shift[j] += mean / kernel.factor[j];
        }
    }
    let (shift, factor) =
        (graph.numbers("shift", &[d], shift.into_iter()), graph.numbers("factor", &[d], kernel.factor.iter().copied()));
    let shifted = graph.node("Sub", &[x, &shift], "shifted", &[]);
    let x = graph.node("Mul", &[&shifted, &factor], "scaled", &[]);
    let number = |graph: &mut Builder, name: &str, value: f64| graph.numbers(name, &[], [value].into_iter());
    let last = graph.integers("last_axis", &[-1]);
    let square_of = |row: &[f64]| row.iter().map(|v| v * v).sum::<f64>();
    if let Kernel::Laplacian { .. } = kernel.kernel {
        let rows = graph.numbers("rows", &[s, d], rows.into_iter());
        let middle = graph.integers("middle_axis", &[1]);
        let apart = graph.node("Unsqueeze", &[&x, &middle], "one_by_one", &[]);
        let differences = graph.node("Sub", &[&apart, &rows], "differences", &[]);
        let sizes = graph.node("Abs", &[&differences], "absolute_differences", &[]);
        let distances = graph.node("ReduceSum", &[&sizes, &last], "distances", &[("keepdims", 0)]);
        let gamma = number(graph, "minus_gamma", -kernel.gamma);
        let powers = graph.node("Mul", &[&distances, &gamma], "powers", &[]);
        return graph.node("Exp", &[&powers], "kernel", &[]);
    }
    if let Kernel::Cosine = kernel.kernel {
        // Rows of length 0 stay what they are, and so do their products.
        for row in rows.chunks_exact_mut(d) {
            let length = square_of(row).sqrt();
            row.iter_mut().for_each(|v| *v /= if length > 0.0 { length } else { 1.0 });
        }
    }
    let squares: Vec<f64> = rows.chunks_exact(d).map(square_of).collect();
    let by_feature: Vec<f64> = (0..d).flat_map(|j| rows.iter().skip(j).step_by(d).copied()).collect();
    let by_feature = graph.numbers("rows", &[d, s], by_feature.into_iter());
    let products = graph.node("MatMul", &[&x, &by_feature], "inner_products", &[]);
    let own_squares = |graph: &mut Builder| {
        let squared = graph.node("Mul", &[&x, &x], "squared", &[]);
        graph.node("ReduceSum", &[&squared, &last], "own_squares", &[("keepdims", 1)])
    };
    match kernel.kernel {
        Kernel::Rbf { .. } => {
            let own = own_squares(graph);
            let theirs = graph.numbers("squares", &[s], squares.into_iter());
            let (two, zero) = (number(graph, "two", 2.0), number(graph, "no_distance", 0.0));
            let sums = graph.node("Add", &[&own, &theirs], "sums_of_squares", &[]);
            let twice = graph.node("Mul", &[&products, &two], "twice_products", &[]);
            let distances = graph.node("Sub", &[&sums, &twice], "rounded_distances", &[]);
            let distances = graph.node("Max", &[&distances, &zero], "distances", &[]);
            let gamma = number(graph, "minus_gamma", -kernel.gamma);
            let powers = graph.node("Mul", &[&distances, &gamma], "powers", &[]);
            graph.node("Exp", &[&powers], "kernel", &[])
        }
        Kernel::Polynomial { degree, coef0, .. } => {
            let (gamma, coef0) = (number(graph, "gamma", kernel.gamma), number(graph, "coef0", coef0));
            let degree = number(graph, "degree", f64::from(degree));
            let scaled = graph.node("Mul", &[&products, &gamma], "scaled_products", &[]);
            let bases = graph.node("Add", &[&scaled, &coef0], "bases", &[]);
            graph.node("Pow", &[&bases, &degree], "kernel", &[])
        }
        Kernel::Cosine => {
            let own = own_squares(graph);
            let least = number(graph, "least_square", f64::MIN_POSITIVE);
            let own = graph.node("Max", &[&own, &least], "positive_squares", &[]);
            let lengths = graph.node("Sqrt", &[&own], "lengths", &[]);
            graph.node("Div", &[&products, &lengths], "kernel", &[])
        }
        Kernel::Linear | Kernel::Laplacian { .. } | Kernel::Precomputed => products,
    }
}

/// Votes of the pairs, plus s/(3(|s| + 1)) for the sum s of what speaks for a class: `Model::scores` for one-vs-one.
fn votes(graph: &mut Builder, model: &Portable<'_>, said: &str) -> String {
    let (c, pairs) = (model.classes.len(), model.pairs());
    // For the first of a pair, against the second one.
    let mut sides = vec![0.0; pairs.len() * c];
    // If no scorer speaks for its first class, all votes are for the second ones.
    let mut second = vec![0.0; c];
    for (pair, &(k, l)) in pairs.iter().enumerate() {
        sides[pair * c + k] = 1.0;
        sides[pair * c + l] = -1.0;
        second[l] += 1.0;
    }
    let sides = graph.numbers("sides", &[pairs.len(), c], sides.into_iter());
    let second = graph.numbers("second", &[c], second.into_iter());
    let [zero, one, three] = [("zero", 0.0), ("one", 1.0), ("three", 3.0)]
        .map(|(name, value)| graph.numbers(name, &[], [value].into_iter()));
    let first_wins = graph.node("GreaterOrEqual", &[said, &zero], "first_wins", &[]);
    let wins = graph.cast(&first_wins, Element::Double, "wins");
    let moved = graph.node("MatMul", &[&wins, &sides], "moved_votes", &[]);
    let votes = graph.node("Add", &[&moved, &second], "votes", &[]);
    let sums = graph.node("MatMul", &[said, &sides], "sums", &[]);
    let sizes = graph.node("Abs", &[&sums], "sizes", &[]);
    let room = graph.node("Add", &[&sizes, &one], "room", &[]);
    let room = graph.node("Mul", &[&room, &three], "threefold_room", &[]);
    let share = graph.node("Div", &[&sums, &room], "share", &[]);
    graph.node("Add", &[&votes, &share], "votes_and_share", &[])
}

/// The class of the highest score, the first one of equals.
fn label(graph: &mut Builder, model: &Portable<'_>, labels: Labels, scores: &str) {
    let (classes, element) = match integers(model.classes).filter(|_| labels == Labels::Natural) {
        Some(numbers) => (graph.integers("classes", &numbers), Element::Integer),
        None => (graph.texts("classes", model.classes), Element::Text),
    };
    let best = graph.node("ArgMax", &[scores], "best", &[("axis", 1), ("keepdims", 0)]);
    let label = graph.node("Gather", &[&classes, &best], "label", &[("axis", 0)]);
    graph.output(&label, element, None);
}

/// Classes as numbers, if that is what all of their names are.
fn integers(classes: &[String]) -> Option<Vec<i64>> {
    classes.iter().map(|name| name.parse().ok().filter(|n: &i64| n.to_string() == *name)).collect()
}

/// Makes a tensor of one column per class a result, in the type that is spoken outside.
fn publish(
    graph: &mut Builder,
    model: &Portable<'_>,
    precision: Precision,
    outside: Element,
    inside: &str,
    name: &str,
) {
    match precision {
        Precision::Single => graph.cast(inside, Element::Float, name),
        Precision::Double => graph.node("Identity", &[inside], name, &[]),
    };
    graph.output(name, outside, Some(model.classes.len()));
}

/// What people may want to know about the file.
fn metadata(model: &Portable<'_>) -> Vec<Entry> {
    let names = |all: &[String]| serde_json::json!(all).to_string();
    let mut entries = vec![("method", model.method_name().to_string()), ("classes", names(model.classes))];
    entries.extend(model.feature_names.map(|all| ("feature_names", names(all))));
    entries.into_iter().map(|(key, value)| Entry { key: key.into(), value }).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use m3svm::{Dataset, Features, Method};

    use super::*;

    fn graph_of(method: Method, names: [&str; 3], precision: Precision, labels: Labels) -> messages::Graph {
        let data = Dataset::from_labels(Features::dense(vec![0.0, 1.0, 4.0], 3, 1).unwrap(), &names).unwrap();
        let model = method.spec().with_usual_lambda().fit(&data).unwrap();
        let bytes = graph(&Portable::of(&model, None).unwrap(), precision, labels);
        Model::decode(&*bytes).unwrap().graph.unwrap()
    }

    /// Whether runtimes agree is asked from Python; here, that every tensor is made before it is used, and once.
    #[test]
    fn graphs_are_complete_and_in_order() {
        for method in Method::ALL {
            for precision in [Precision::Single, Precision::Double] {
                let graph = graph_of(method, ["a", "b", "c"], precision, Labels::Natural);
                let mut known: Vec<String> = graph.inputs.iter().map(|v| v.name.clone()).collect();
                known.extend(graph.constants.iter().map(|t| t.name.clone()));
                for node in &graph.nodes {
                    assert!(node.inputs.iter().all(|name| known.contains(name)), "{}", node.name);
                    assert!(!known.contains(&node.outputs[0]), "{}", node.name);
                    known.extend(node.outputs.clone());
                }
                assert!(graph.outputs.iter().all(|v| known.contains(&v.name)));
                let probabilities = graph.outputs.iter().any(|v| v.name == "probabilities");
                assert_eq!(probabilities, method.spec().loss.as_dyn().has_probabilities());
            }
        }
    }

    #[test]
    fn labels_are_integers_only_if_all_names_are() {
        let element = |names, labels| {
            let graph = graph_of(Method::Lr, names, Precision::Single, labels);
            graph.outputs[0].kind.clone().unwrap().tensor.unwrap().element
        };
        assert_eq!(element(["-1", "2", "9000000000"], Labels::Natural), Element::Integer as i32);
        assert_eq!(element(["-1", "2", "3"], Labels::Text), Element::Text as i32);
        assert_eq!(element(["-1", "2", "03"], Labels::Natural), Element::Text as i32);
        assert_eq!(element(["1", "2", "2.5"], Labels::Natural), Element::Text as i32);
    }
}
