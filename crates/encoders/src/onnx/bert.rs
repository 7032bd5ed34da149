//! The graph of a BERT encoder, in the shape in which PyTorch exports it: optimisers of ONNX runtimes know that shape
//! and replace its parts by fused operators.

use counterproof_core::Result;

use super::Head;
use super::graph::{Attribute, Data, Dim, Element, Graph, Value, value_info};
use super::proto::Message;
use crate::config::{Activation, BertConfig};
use crate::weights::Weights;

/// What is added to the score of a padding token before the softmax: far below any real score, and small enough that
/// sums with it stay finite in half precision too.
const MASKED: f32 = -10_000.0;

/// Builds the graph of one encoder.
pub(super) struct BertGraph<'a> {
    weights: &'a Weights,
    config: &'a BertConfig,
    pub(super) graph: Graph,
    pub(super) inputs: Vec<Message>,
    pub(super) outputs: Vec<Message>,
}

impl<'a> BertGraph<'a> {
    pub(super) fn build(weights: &'a Weights, config: &'a BertConfig, head: Head) -> Result<Self> {
        let mut this =
            Self { weights, config, graph: Graph::default(), inputs: Vec::new(), outputs: Vec::new() };
        let states = this.encoder(match head {
            Head::HiddenStates => "last_hidden_state",
        })?;
        match head {
            Head::HiddenStates => {
                let dims = [Dim::Named("batch"), Dim::Named("sequence"), Dim::Fixed(config.hidden_size)];
                this.outputs.push(value_info(&states, Element::Float, &dims));
            }
        }
        Ok(this)
    }

    fn input(&mut self, name: &str) -> Value {
        self.inputs.push(value_info(name, Element::Int64, &[Dim::Named("batch"), Dim::Named("sequence")]));
        name.to_owned()
    }

    /// A tensor of the file, under its own name.
    fn table(&mut self, name: &str, dims: &[usize]) -> Result<Value> {
        let table = self.weights.tensor(name, dims)?;
        Ok(self.graph.initializer(name, dims, Element::Float, Data::Table(table)))
    }

    /// A dense layer over the last dimension, its output called `name`.
    fn linear(&mut self, name: &str, layer: &str, x: &Value, inputs: usize, outputs: usize) -> Result<Value> {
        let weight = self.weights.tensor(&format!("{layer}.weight"), &[outputs, inputs])?;
        let weight = self.graph.initializer(
            &format!("{layer}.weight"),
            &[inputs, outputs],
            Element::Float,
            Data::Transposed(weight, outputs, inputs),
        );
        let bias = self.table(&format!("{layer}.bias"), &[outputs])?;
        let product = self.graph.binary("MatMul", &format!("{name}/MatMul"), x, &weight);
        Ok(self.graph.binary("Add", name, &bias, &product))
    }

    fn layer_norm(&mut self, name: &str, layer: &str, x: &Value) -> Result<Value> {
        let hidden = self.config.hidden_size;
        let weight = self.table(&format!("{layer}.weight"), &[hidden])?;
        let bias = self.table(&format!("{layer}.bias"), &[hidden])?;
        let attributes =
            [Attribute::Int("axis", -1), Attribute::Float("epsilon", self.config.layer_norm_eps)];
        Ok(self.graph.node("LayerNormalization", name, &[x, &weight, &bias], &attributes))
    }

    /// The embeddings and every layer; the states of the last one are called `output`.
    fn encoder(&mut self, output: &str) -> Result<Value> {
        let ids = self.input("input_ids");
        let mask = self.input("attention_mask");
        let types = self.input("token_type_ids");
        let mut x = self.embeddings(&ids, &types)?;
        let mask = self.mask(&mask);
        let (heads, size) = (self.config.num_attention_heads as i64, self.config.head_size() as i64);
        let split = self.graph.ints("split_heads", &[0, 0, heads, size]);
        let join = self.graph.ints("join_heads", &[0, 0, heads * size]);
        let root = self.graph.float("root_of_head_size", (size as f32).sqrt());
        let shared = Shared { mask, split, join, root };
        for i in 0..self.config.num_hidden_layers {
            let last = i + 1 == self.config.num_hidden_layers;
            let name = if last { output.to_owned() } else { format!("layer.{i}/output") };
            x = self.layer(i, &x, &shared, &name)?;
        }
        Ok(x)
    }

    fn embeddings(&mut self, ids: &Value, types: &Value) -> Result<Value> {
        let config = self.config;
        let hidden = config.hidden_size;
        let words = self.table("embeddings.word_embeddings.weight", &[config.vocab_size, hidden])?;
        let segments =
            self.table("embeddings.token_type_embeddings.weight", &[config.type_vocab_size, hidden])?;
        let positions =
            self.table("embeddings.position_embeddings.weight", &[config.max_position_embeddings, hidden])?;
        let words = self.graph.node("Gather", "embeddings/words", &[&words, ids], &[]);
        let segments = self.graph.node("Gather", "embeddings/segments", &[&segments, types], &[]);

        // Rows `first..first + length` of the position table.
        let first = self.graph.ints("first_position", &[config.first_position() as i64]);
        let zero = self.graph.ints("zero", &[0]);
        let one = self.graph.ints("one", &[1]);
        let two = self.graph.ints("two", &[2]);
        let shape = self.graph.node("Shape", "embeddings/shape", &[ids], &[]);
        let length = self.graph.node("Slice", "embeddings/length", &[&shape, &one, &two, &zero], &[]);
        let end = self.graph.binary("Add", "embeddings/end", &length, &first);
        let positions =
            self.graph.node("Slice", "embeddings/positions", &[&positions, &first, &end, &zero], &[]);

        let sum = self.graph.binary("Add", "embeddings/sum", &words, &segments);
        let sum = self.graph.binary("Add", "embeddings/all", &sum, &positions);
        self.layer_norm("embeddings/output", "embeddings.LayerNorm", &sum)
    }

    /// `batch x 1 x 1 x sequence`: nothing for a token that is there, far below any score for padding.
    fn mask(&mut self, mask: &Value) -> Value {
        let graph = &mut self.graph;
        let axes = graph.ints("mask_axes", &[1, 2]);
        let one = graph.float("mask_one", 1.0);
        let masked = graph.float("masked", MASKED);
        let wide = graph.node("Unsqueeze", "mask/wide", &[mask, &axes], &[]);
        let to = [Attribute::Int("to", Element::Float as i64)];
        let float = graph.node("Cast", "mask/float", &[&wide], &to);
        let missing = graph.binary("Sub", "mask/missing", &one, &float);
        graph.binary("Mul", "mask", &missing, &masked)
    }

    fn layer(&mut self, i: usize, x: &Value, shared: &Shared, output: &str) -> Result<Value> {
        let weight = |part: &str| format!("encoder.layer.{i}.{part}");
        let name = |part: &str| format!("layer.{i}/{part}");
        let (hidden, inner) = (self.config.hidden_size, self.config.intermediate_size);

        let mut heads = |part: &str, order: &[i64]| {
            let states =
                self.linear(&name(part), &weight(&format!("attention.self.{part}")), x, hidden, hidden)?;
            let states = self.graph.reshape(&name(&format!("{part}/split")), &states, &shared.split);
            Ok::<_, counterproof_core::Error>(self.graph.transpose(
                &name(&format!("{part}/heads")),
                &states,
                order,
            ))
        };
        let query = heads("query", &[0, 2, 1, 3])?;
        let key = heads("key", &[0, 2, 3, 1])?;
        let value = heads("value", &[0, 2, 1, 3])?;

        let graph = &mut self.graph;
        let scores = graph.binary("MatMul", &name("scores"), &query, &key);
        let scores = graph.binary("Div", &name("scores/scaled"), &scores, &shared.root);
        let scores = graph.binary("Add", &name("scores/masked"), &scores, &shared.mask);
        let shares = graph.node("Softmax", &name("shares"), &[&scores], &[Attribute::Int("axis", -1)]);
        let context = graph.binary("MatMul", &name("context/heads"), &shares, &value);
        let context = graph.transpose(&name("context/split"), &context, &[0, 2, 1, 3]);
        let context = graph.reshape(&name("context"), &context, &shared.join);

        let attended =
            self.linear(&name("attention"), &weight("attention.output.dense"), &context, hidden, hidden)?;
        let sum = self.graph.binary("Add", &name("attention/sum"), &attended, x);
        let attended =
            self.layer_norm(&name("attention/output"), &weight("attention.output.LayerNorm"), &sum)?;

        let between = self.linear(&name("inner"), &weight("intermediate.dense"), &attended, hidden, inner)?;
        let between = self.activation(&name("inner"), &between);
        let out = self.linear(&name("outer"), &weight("output.dense"), &between, inner, hidden)?;
        let sum = self.graph.binary("Add", &name("outer/sum"), &out, &attended);
        self.layer_norm(output, &weight("output.LayerNorm"), &sum)
    }

    fn activation(&mut self, name: &str, x: &Value) -> Value {
        let name = |part: &str| format!("{name}/{part}");
        let graph = &mut self.graph;
        match self.config.hidden_act {
            Activation::Relu => graph.node("Relu", &name("relu"), &[x], &[]),
            Activation::Gelu => {
                let root = graph.float(&name("root"), std::f32::consts::SQRT_2);
                let (one, half) = (graph.float(&name("one"), 1.0), graph.float(&name("half"), 0.5));
                let y = graph.binary("Div", &name("scaled"), x, &root);
                let y = graph.node("Erf", &name("erf"), &[&y], &[]);
                let y = graph.binary("Add", &name("raised"), &y, &one);
                let y = graph.binary("Mul", &name("doubled"), x, &y);
                graph.binary("Mul", &name("gelu"), &y, &half)
            }
            Activation::GeluTanh => {
                let (one, half) = (graph.float(&name("one"), 1.0), graph.float(&name("half"), 0.5));
                let (three, cubic) =
                    (graph.float(&name("three"), 3.0), graph.float(&name("cubic"), 0.044_715));
                let root = graph.float(&name("root"), std::f32::consts::FRAC_2_PI.sqrt());
                let y = graph.binary("Pow", &name("cubed"), x, &three);
                let y = graph.binary("Mul", &name("weighed"), &y, &cubic);
                let y = graph.binary("Add", &name("polynomial"), x, &y);
                let y = graph.binary("Mul", &name("scaled"), &y, &root);
                let y = graph.node("Tanh", &name("tanh"), &[&y], &[]);
                let y = graph.binary("Add", &name("raised"), &y, &one);
                let x = graph.binary("Mul", &name("halved"), x, &half);
                graph.binary("Mul", &name("gelu"), &x, &y)
            }
        }
    }
}

/// Values that every layer uses.
struct Shared {
    mask: Value,
    split: Value,
    join: Value,
    root: Value,
}
