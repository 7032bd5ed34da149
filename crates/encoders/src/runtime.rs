//! What computes the hidden states of tokens: our own forward pass for the BERT family, `rten` for an encoder of
//! another family that comes as an `.onnx` file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use counterproof_core::{Error, InternalError, Result, UserError};
use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value};

use crate::bert::BertModel;
use crate::tokens::Sequence;

/// An encoder that is loaded.
pub(crate) enum Runtime {
    /// Weights from safetensors.
    Bert(BertModel),
    /// A graph from a hub.
    Onnx(OnnxModel),
}

impl Runtime {
    /// Numbers in a hidden state.
    pub(crate) fn hidden_size(&self) -> usize {
        match self {
            Self::Bert(model) => model.config().hidden_size,
            Self::Onnx(model) => model.hidden_size,
        }
    }

    /// Whether several batches may be computed at the same time by as many threads; otherwise one batch uses all.
    pub(crate) fn one_thread_a_batch(&self) -> bool {
        matches!(self, Self::Bert(_))
    }

    /// The last hidden states of every token, `tokens x hidden_size`, the texts one after another.
    pub(crate) fn forward(&self, batch: &[&Sequence]) -> Result<Vec<f32>> {
        match self {
            Self::Bert(model) => model.forward(batch),
            Self::Onnx(model) => model.forward(batch),
        }
    }
}

/// The graph of an encoder, run by `rten`.
pub(crate) struct OnnxModel {
    model: Model,
    options: RunOptions,
    inputs: Vec<(NodeId, Input)>,
    output: NodeId,
    hidden_size: usize,
}

#[derive(Clone, Copy)]
enum Input {
    Ids,
    Mask,
    TypeIds,
}

/// The graph in a model folder, where hubs put it.
pub(crate) fn find_onnx(dir: &Path) -> Option<PathBuf> {
    ["model.onnx", "onnx/model.onnx"].iter().map(|name| dir.join(name)).find(|path| path.is_file())
}

impl OnnxModel {
    /// Loads the graph, whose inputs are `input_ids`, `attention_mask` and perhaps `token_type_ids`. `probe` is any
    /// text: it is run once to see what comes out.
    pub(crate) fn load(path: &Path, threads: usize, probe: &Sequence) -> Result<Self> {
        let damaged = |message: String| -> Error {
            InternalError::Damaged { path: path.display().to_string(), message }.into()
        };
        let mut options = ModelOptions::with_all_ops();
        options.prepack_weights(true);
        // SAFETY: as for every map of a model file, see `Weights::open`.
        let model = unsafe { options.load_mmap(path) }.map_err(|error| damaged(error.to_string()))?;
        let name_of = |&id: &NodeId| model.node_info(id).and_then(|info| info.name()).unwrap_or_default();
        let inputs = model.input_ids().iter().map(|id| match name_of(id) {
            "input_ids" => Ok((*id, Input::Ids)),
            "attention_mask" => Ok((*id, Input::Mask)),
            "token_type_ids" => Ok((*id, Input::TypeIds)),
            other => Err(Error::from(UserError::Unsupported {
                who: format!("the encoder runtime ({})", path.display()),
                what: format!("give the graph its input `{other}`"),
            })),
        });
        let inputs: Vec<_> = inputs.collect::<Result<_>>()?;
        let states = model.output_ids().iter().find(|id| name_of(id) == "last_hidden_state");
        let output = states.or(model.output_ids().first()).copied();
        let output = output.ok_or_else(|| damaged("the graph has no output".to_owned()))?;
        let pool = Arc::new(ThreadPool::with_num_threads(threads));
        let options = RunOptions::default().with_thread_pool(Some(pool));
        let mut this = Self { model, options, inputs, output, hidden_size: 0 };
        let (shape, _) = this.states(&[probe])?;
        this.hidden_size = shape.last().copied().unwrap_or_default();
        if this.hidden_size == 0 {
            return Err(damaged("the graph gives no hidden states".to_owned()));
        }
        Ok(this)
    }

    fn forward(&self, batch: &[&Sequence]) -> Result<Vec<f32>> {
        let ([_, length, hidden], states) = self.states(batch)?;
        let texts = states.chunks_exact((length * hidden).max(1));
        let real =
            texts.zip(batch).flat_map(|(states, sequence)| states.iter().take(sequence.len() * hidden));
        Ok(real.copied().collect())
    }

    /// The padded states, `texts x tokens x hidden`.
    fn states(&self, batch: &[&Sequence]) -> Result<([usize; 3], Vec<f32>)> {
        let failed =
            |error: &dyn std::fmt::Display| Error::failed("running the ONNX graph of an encoder", error);
        let length = batch.iter().map(|sequence| sequence.len()).max().unwrap_or(0).max(1);
        let padded = |number: fn(&Sequence, usize) -> u32| {
            let rows = batch.iter().flat_map(|s| (0..length).map(move |i| number(s, i).cast_signed()));
            Value::from_shape([batch.len(), length], rows.collect::<Vec<i32>>())
        };
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for (id, input) in &self.inputs {
            let value = match input {
                Input::Ids => padded(|s, i| s.ids.get(i).copied().unwrap_or(0)),
                Input::Mask => padded(|s, i| u32::from(i < s.len())),
                Input::TypeIds => padded(|s, i| s.type_ids.get(i).copied().unwrap_or(0)),
            };
            inputs.push((*id, value.map_err(|e| failed(&e))?.into()));
        }
        let run = self.model.run_n(inputs, [self.output], Some(self.options.clone()));
        let [output] = run.map_err(|e| failed(&e))?;
        output.into_shape_vec::<f32, 3>().map_err(|e| failed(&e))
    }
}
