//! The part of ONNX's protocol buffers that a linear classifier needs, with the field numbers of the specification.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Model {
    #[prost(int64, tag = "1")]
    pub(super) ir_version: i64,
    #[prost(string, tag = "2")]
    pub(super) producer_name: String,
    #[prost(string, tag = "3")]
    pub(super) producer_version: String,
    #[prost(message, optional, tag = "7")]
    pub(super) graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    pub(super) operators: Vec<OperatorSet>,
    #[prost(message, repeated, tag = "14")]
    pub(super) metadata: Vec<Entry>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OperatorSet {
    #[prost(string, optional, tag = "1")]
    pub(super) domain: Option<String>,
    #[prost(int64, tag = "2")]
    pub(super) version: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Entry {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub(super) nodes: Vec<Node>,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) constants: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    pub(super) inputs: Vec<Value>,
    #[prost(message, repeated, tag = "12")]
    pub(super) outputs: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(string, repeated, tag = "1")]
    pub(super) inputs: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(super) outputs: Vec<String>,
    #[prost(string, tag = "3")]
    pub(super) name: String,
    #[prost(string, tag = "4")]
    pub(super) operator: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) attributes: Vec<Attribute>,
    // Optional, because operators without it are the standard ones.
    #[prost(string, optional, tag = "7")]
    pub(super) domain: Option<String>,
}

/// An attribute that is an integer or a list of texts.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    // Optional, because 0 has to be written too.
    #[prost(int64, optional, tag = "3")]
    pub(super) integer: Option<i64>,
    #[prost(bytes = "vec", repeated, tag = "9")]
    pub(super) texts: Vec<Vec<u8>>,
    #[prost(int32, tag = "20")]
    pub(super) kind: i32,
}

/// The kinds of [`Attribute`].
pub(super) const INTEGER: i32 = 2;
pub(super) const TEXTS: i32 = 8;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Tensor {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub(super) shape: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub(super) element: i32,
    #[prost(bytes = "vec", repeated, tag = "6")]
    pub(super) texts: Vec<Vec<u8>>,
    #[prost(string, tag = "8")]
    pub(super) name: String,
    // Optional, because tensors of texts must not have it.
    #[prost(bytes = "vec", optional, tag = "9")]
    pub(super) raw: Option<Vec<u8>>,
}

/// Types of the elements of tensors.
#[derive(Clone, Copy)]
#[repr(i32)]
pub(super) enum Element {
    Float = 1,
    Integer = 7,
    Text = 8,
    Double = 11,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Value {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) kind: Option<Type>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Type {
    #[prost(message, optional, tag = "1")]
    pub(super) tensor: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorType {
    #[prost(int32, tag = "1")]
    pub(super) element: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) shape: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(message, repeated, tag = "1")]
    pub(super) dimensions: Vec<Dimension>,
}

/// A number, or the name of what is not known yet.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Dimension {
    #[prost(int64, optional, tag = "1")]
    pub(super) size: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
}
