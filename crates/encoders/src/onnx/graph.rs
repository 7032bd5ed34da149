//! The nodes of an ONNX graph, one method an operator, and the tensors they use.
//!
//! Names of values are made from the node that gives them, so that a graph reads well in a viewer.

use super::proto::Message;
use crate::weights::Table;

/// The operator set the graph is written against: the first that has layer normalisation.
pub(super) const OPSET: i64 = 17;

/// Element types of `TensorProto`.
#[derive(Clone, Copy)]
pub(super) enum Element {
    Float = 1,
    Int64 = 7,
}

/// A value in the graph, by its name.
pub(super) type Value = String;

/// A tensor that is written with the graph.
pub(super) struct Initializer {
    pub(super) name: String,
    pub(super) dims: Vec<usize>,
    pub(super) element: Element,
    pub(super) data: Data,
}

/// The numbers of an initializer: small ones at hand, large ones read when they are written.
pub(super) enum Data {
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Table(Table),
    /// The transpose of a table with so many rows and columns.
    Transposed(Table, usize, usize),
}

/// A graph under construction.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Message>,
    pub(super) initializers: Vec<Initializer>,
}

/// An attribute of a node.
pub(super) enum Attribute<'a> {
    Int(&'a str, i64),
    Ints(&'a str, &'a [i64]),
    Float(&'a str, f32),
}

impl Attribute<'_> {
    fn message(&self) -> Message {
        match self {
            Self::Float(name, value) => Message::new().text(1, name).float(2, *value).int(20, 1),
            Self::Int(name, value) => Message::new().text(1, name).int(3, *value).int(20, 2),
            Self::Ints(name, values) => {
                let start = Message::new().text(1, name);
                values.iter().fold(start, |message, value| message.int(8, *value)).int(20, 7)
            }
        }
    }
}

impl Graph {
    /// Adds a node `op` called `name` and returns its output.
    pub(super) fn node(
        &mut self,
        op: &str,
        name: &str,
        inputs: &[&Value],
        attributes: &[Attribute<'_>],
    ) -> Value {
        let mut node = Message::new();
        for input in inputs {
            node = node.text(1, input);
        }
        node = node.text(2, name).text(3, name).text(4, op);
        for attribute in attributes {
            node = node.message(5, &attribute.message());
        }
        self.nodes.push(node);
        name.to_owned()
    }

    pub(super) fn initializer(&mut self, name: &str, dims: &[usize], element: Element, data: Data) -> Value {
        self.initializers.push(Initializer { name: name.to_owned(), dims: dims.to_vec(), element, data });
        name.to_owned()
    }

    /// A vector of whole numbers.
    pub(super) fn ints(&mut self, name: &str, values: &[i64]) -> Value {
        self.initializer(name, &[values.len()], Element::Int64, Data::Ints(values.to_vec()))
    }

    /// A single float.
    pub(super) fn float(&mut self, name: &str, value: f32) -> Value {
        self.initializer(name, &[], Element::Float, Data::Floats(vec![value]))
    }

    pub(super) fn binary(&mut self, op: &str, name: &str, a: &Value, b: &Value) -> Value {
        self.node(op, name, &[a, b], &[])
    }

    pub(super) fn reshape(&mut self, name: &str, x: &Value, shape: &Value) -> Value {
        self.node("Reshape", name, &[x, shape], &[])
    }

    pub(super) fn transpose(&mut self, name: &str, x: &Value, order: &[i64]) -> Value {
        self.node("Transpose", name, &[x], &[Attribute::Ints("perm", order)])
    }
}

/// The `ValueInfoProto` of an input or output.
pub(super) fn value_info(name: &str, element: Element, dims: &[Dim<'_>]) -> Message {
    let shape = dims.iter().fold(Message::new(), |shape, dim| {
        let dim = match dim {
            Dim::Fixed(size) => Message::new().int(1, *size as i64),
            Dim::Named(name) => Message::new().text(2, name),
        };
        shape.message(1, &dim)
    });
    let tensor = Message::new().int(1, element as i64).message(2, &shape);
    Message::new().text(1, name).message(2, &Message::new().message(1, &tensor))
}

/// One dimension of an input or output.
pub(super) enum Dim<'a> {
    Fixed(usize),
    Named(&'a str),
}
