//! Graphs, one operator at a time.

use super::messages::{
    Attribute, Dimension, Element, Graph, INTEGER, Node, Shape, TEXTS, Tensor, TensorType, Type, Value,
};

/// A graph in the making. What an operator gives is known by a name, which the next ones take.
#[derive(Default)]
pub(super) struct Builder {
    graph: Graph,
}

/// The set of operators of classical machine learning.
pub(super) const LEARNING: &str = "ai.onnx.ml";

/// The name of a dimension that is known when the graph runs.
const ROWS: &str = "N";

impl Builder {
    /// Adds an operator and returns the name of its result.
    pub(super) fn node(&mut self, operator: &str, inputs: &[&str], result: &str, attributes: &[(&str, i64)]) -> String {
        let attributes = attributes.iter().map(|(name, value)| Attribute {
            name: (*name).into(),
            integer: Some(*value),
            texts: Vec::new(),
            kind: INTEGER,
        });
        self.graph.nodes.push(Node {
            inputs: inputs.iter().map(|name| (*name).into()).collect(),
            outputs: vec![result.into()],
            name: format!("make_{result}"),
            operator: operator.into(),
            attributes: attributes.collect(),
            domain: None,
        });
        result.into()
    }

    /// Adds an operator that is 1 at the position of a text in a list, and 0 everywhere for other texts.
    pub(super) fn one_hot(&mut self, from: &str, values: &[String], result: &str) -> String {
        let result = self.node("OneHotEncoder", &[from], result, &[("zeros", 1)]);
        if let Some(node) = self.graph.nodes.last_mut() {
            let texts = values.iter().map(|text| text.as_bytes().to_vec()).collect();
            node.attributes.push(Attribute { name: "cats_strings".into(), integer: None, texts, kind: TEXTS });
            node.domain = Some(LEARNING.into());
        }
        result
    }

    /// Adds another type's copy of a tensor.
    pub(super) fn cast(&mut self, from: &str, to: Element, result: &str) -> String {
        self.node("Cast", &[from], result, &[("to", i64::from(to as i32))])
    }

    /// Adds numbers that the graph brings along.
    pub(super) fn numbers(&mut self, name: &str, shape: &[usize], values: impl Iterator<Item = f64>) -> String {
        self.raw(name, shape, Element::Double, values.flat_map(f64::to_le_bytes).collect())
    }

    /// Adds integers that the graph brings along.
    pub(super) fn integers(&mut self, name: &str, values: &[i64]) -> String {
        self.raw(name, &[values.len()], Element::Integer, values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    /// Adds texts that the graph brings along.
    pub(super) fn texts(&mut self, name: &str, values: &[String]) -> String {
        let texts = values.iter().map(|text| text.as_bytes().to_vec()).collect();
        self.constant(Tensor { texts, ..tensor(name, &[values.len()], Element::Text) })
    }

    /// Says that a tensor is fed from outside: so many columns, and rows as they come.
    pub(super) fn input(&mut self, name: &str, element: Element, columns: usize) {
        self.graph.inputs.push(value(name, element, Some(columns)));
    }

    /// Says that a tensor is a result; without columns it has one dimension.
    pub(super) fn output(&mut self, name: &str, element: Element, columns: Option<usize>) {
        self.graph.outputs.push(value(name, element, columns));
    }

    pub(super) fn finish(mut self, name: &str) -> Graph {
        self.graph.name = name.into();
        self.graph
    }

    fn raw(&mut self, name: &str, shape: &[usize], element: Element, bytes: Vec<u8>) -> String {
        self.constant(Tensor { raw: Some(bytes), ..tensor(name, shape, element) })
    }

    fn constant(&mut self, tensor: Tensor) -> String {
        let name = tensor.name.clone();
        self.graph.constants.push(tensor);
        name
    }
}

fn tensor(name: &str, shape: &[usize], element: Element) -> Tensor {
    let shape = shape.iter().map(|n| *n as i64).collect();
    Tensor { shape, element: element as i32, texts: Vec::new(), name: name.into(), raw: None }
}

fn value(name: &str, element: Element, columns: Option<usize>) -> Value {
    let rows = Dimension { size: None, name: Some(ROWS.into()) };
    let columns = columns.map(|n| Dimension { size: Some(n as i64), name: None });
    let shape = Shape { dimensions: std::iter::once(rows).chain(columns).collect() };
    let tensor = TensorType { element: element as i32, shape: Some(shape) };
    Value { name: name.into(), kind: Some(Type { tensor: Some(tensor) }) }
}
