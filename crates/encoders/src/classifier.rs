//! Heads that sort a sequence into the three classes of natural language inference: our own, and those of BERT, RoBERTa
//! and DeBERTa models from a hub.

use std::path::Path;

use counterproof_core::{Error, InternalError, Result, UserError, nli_order};
use counterproof_kernels::matrix::Then;
use counterproof_kernels::vector::add_scaled;
use serde::Deserialize;

use crate::adapter::Adapter;
use crate::bert::Linear;
use crate::config::{BertConfig, read_json};
use crate::tokens::Sequence;
use crate::weights::Weights;

/// The classes in the order of every result: entailed, neutral, contradicted.
const CLASSES: usize = 3;

/// A dense layer with tanh over features of the sequence, and a linear layer to the classes.
pub(crate) struct Head {
    features: Features,
    hidden: usize,
    dense: Linear,
    output: Linear,
    /// Between the two.
    between: Between,
    /// For each class the head's output that stands for it.
    order: [usize; CLASSES],
}

/// The non-linearity of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Between {
    Tanh,
    /// Of DeBERTa's pooler.
    Gelu,
}

/// What a head looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Features {
    /// The state of the first token.
    First,
    /// The state of the first token, then the mean of all.
    FirstAndMean,
}

impl Head {
    /// The head of a verifier adapter.
    pub(crate) fn from_adapter(adapter: &Adapter, hidden: usize) -> Result<Self> {
        let layer = |name: &str, inputs: usize, outputs: usize| {
            let weight = adapter.tensor(&format!("head.{name}.weight"), &[outputs, inputs])?;
            let bias = adapter.tensor(&format!("head.{name}.bias"), &[outputs])?;
            Ok::<_, Error>(Linear::new(weight, bias.to_vec(), inputs))
        };
        let order = nli_order(&adapter.metadata.labels)
            .ok_or_else(|| Error::invalid("the adapter's labels", label_problem(&adapter.metadata.labels)))?;
        Ok(Self {
            features: Features::FirstAndMean,
            hidden,
            dense: layer("dense", 2 * hidden, hidden)?,
            output: layer("output", hidden, CLASSES)?,
            between: Between::Tanh,
            order,
        })
    }

    /// The head of a sequence classification model, as Transformers saves it.
    pub(crate) fn from_folder(dir: &Path, weights: &Weights, config: &BertConfig) -> Result<Self> {
        let labels = labels(dir)?;
        let order = nli_order(&labels).ok_or_else(|| {
            Error::invalid(
                format!("id2label in {}", dir.join("config.json").display()),
                label_problem(&labels),
            )
        })?;
        let hidden = config.hidden_size;
        let (bert, deberta) = (config.model_type == "bert", config.is_deberta());
        let layer = |name: &str, outputs: usize| {
            let read = |kind: &str, shape: &[usize]| {
                let full = format!("{name}.{kind}");
                // BERT's pooler belongs to the encoder, everything else to the head.
                let table = if bert && name.starts_with("pooler") {
                    weights.tensor(&full, shape)
                } else {
                    weights.head_tensor(&full, shape)
                };
                Ok::<_, Error>(table?.to_vec())
            };
            Ok::<_, Error>(Linear::new(
                &read("weight", &[outputs, hidden])?,
                read("bias", &[outputs])?,
                hidden,
            ))
        };
        let (dense, output) = if bert || deberta {
            ("pooler.dense", "classifier")
        } else {
            ("classifier.dense", "classifier.out_proj")
        };
        Ok(Self {
            features: Features::First,
            hidden,
            dense: layer(dense, hidden)?,
            output: layer(output, CLASSES)?,
            between: if deberta { Between::Gelu } else { Between::Tanh },
            order,
        })
    }

    /// The logits of each text of a batch, from its hidden states.
    pub(crate) fn logits(&self, batch: &[&Sequence], states: &[f32]) -> Vec<[f32; CLASSES]> {
        let hidden = self.hidden;
        let mut features = Vec::with_capacity(batch.len() * hidden * 2);
        let mut rest = states;
        for sequence in batch {
            let (own, after) = rest.split_at_checked(sequence.len() * hidden).unwrap_or((rest, &[]));
            rest = after;
            features.extend_from_slice(own.get(..hidden).unwrap_or_default());
            if self.features == Features::FirstAndMean {
                let mut mean = vec![0.0; hidden];
                for row in own.chunks_exact(hidden) {
                    add_scaled(&mut mean, 1.0 / sequence.len() as f32, row);
                }
                features.extend(mean);
            }
        }
        let mut inner = vec![0.0; batch.len() * hidden];
        match self.between {
            Between::Gelu => self.dense.apply(&features, Then::Gelu, &mut inner),
            Between::Tanh => {
                self.dense.apply(&features, Then::Keep, &mut inner);
                inner.iter_mut().for_each(|x| *x = x.tanh());
            }
        }
        let mut logits = vec![0.0; batch.len() * CLASSES];
        self.output.apply(&inner, Then::Keep, &mut logits);
        let rows: &[[f32; CLASSES]] = logits.as_chunks().0;
        rows.iter().map(|row| self.order.map(|i| row.get(i).copied().unwrap_or_default())).collect()
    }
}

/// The names of a classifier's outputs, in order.
fn labels(dir: &Path) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct File {
        id2label: Option<serde_json::Map<String, serde_json::Value>>,
    }
    let path = dir.join("config.json");
    let file: Option<File> = read_json(&path)?;
    let map = file.and_then(|file| file.id2label).ok_or_else(|| {
        Error::from(UserError::Unsupported {
            who: path.display().to_string(),
            what: "tell which output means what: it has no id2label".to_owned(),
        })
    })?;
    (0..map.len())
        .map(|i| {
            let label = map.get(&i.to_string()).and_then(serde_json::Value::as_str);
            label.map(str::to_owned).ok_or_else(|| {
                let message = format!("id2label names {} outputs but not number {i}", map.len());
                InternalError::Damaged { path: path.display().to_string(), message }.into()
            })
        })
        .collect()
}

fn label_problem(labels: &[String]) -> String {
    format!(
        "the outputs are called {labels:?}: which of them means entailment, neutral and contradiction cannot be told; \
         correct the names, or use another model"
    )
}
