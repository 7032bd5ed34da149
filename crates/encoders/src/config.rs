//! What a model folder says about its encoder: `config.json`, and beside it the two small files by which
//! sentence-transformers models name their pooling and their window.

use std::path::Path;

use counterproof_core::{Error, InternalError, Result, UserError};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The shape of a BERT-family encoder, as its `config.json` gives it.
///
/// Described are encoders with absolute, learned positions (BERT and its RoBERTa variant) and DeBERTa-v2 and v3, whose attention
/// is over relative ones.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct BertConfig {
    /// `bert`, one of the RoBERTa names, or `deberta-v2` (which v3 goes by too).
    #[serde(default = "bert")]
    pub model_type: String,
    /// Entries in the vocabulary.
    pub vocab_size: usize,
    /// Numbers in a hidden state.
    pub hidden_size: usize,
    /// Transformer layers.
    pub num_hidden_layers: usize,
    /// Attention heads a layer; divides `hidden_size`.
    pub num_attention_heads: usize,
    /// Numbers in the inner layer of a feed-forward block.
    pub intermediate_size: usize,
    /// Rows of the position table.
    pub max_position_embeddings: usize,
    /// Rows of the segment table.
    #[serde(default = "two")]
    pub type_vocab_size: usize,
    /// Added to the variance before its root is taken.
    #[serde(default = "layer_norm_eps")]
    pub layer_norm_eps: f32,
    /// The non-linearity of the feed-forward blocks.
    #[serde(default)]
    pub hidden_act: Activation,
    /// The padding token; RoBERTa counts positions from the one after it.
    #[serde(default)]
    pub pad_token_id: usize,
    /// `absolute` for every encoder that is supported.
    #[serde(default = "absolute")]
    pub position_embedding_type: String,
    /// DeBERTa: whether attention is over relative positions.
    #[serde(default)]
    pub relative_attention: bool,
    /// DeBERTa: the farthest distance that is told from farther ones; below 1, `max_position_embeddings`.
    #[serde(default)]
    pub max_relative_positions: i64,
    /// DeBERTa: the buckets that distances fall into; below 1, each distance has its own.
    #[serde(default)]
    pub position_buckets: i64,
    /// DeBERTa: which scores by position are added, as `c2p|p2c` or a list.
    #[serde(default)]
    pub pos_att_type: serde_json::Value,
    /// DeBERTa: whether positions go through the layers' own query and key matrices.
    #[serde(default)]
    pub share_att_key: bool,
    /// DeBERTa: how the table of positions is normalised, `layer_norm` or `none`.
    #[serde(default)]
    pub norm_rel_ebd: String,
    /// DeBERTa: whether absolute positions are added to the words too.
    #[serde(default = "yes")]
    pub position_biased_input: bool,
    /// DeBERTa: the width of a convolution beside the first layer; 0 for none.
    #[serde(default)]
    pub conv_kernel_size: usize,
    /// DeBERTa: numbers of a word's embedding where they differ from `hidden_size`.
    #[serde(default)]
    pub embedding_size: Option<usize>,
}

/// Relative positions of an encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Relative {
    /// Half of the rows of the table.
    pub(crate) span: usize,
    /// Buckets of distances; `None` where each has its own row.
    pub(crate) buckets: Option<usize>,
    /// The farthest distance that is told from farther ones.
    pub(crate) farthest: usize,
    /// Whether the table goes through a layer norm.
    pub(crate) normalised: bool,
}

fn yes() -> bool {
    true
}

fn bert() -> String {
    "bert".to_owned()
}

fn absolute() -> String {
    "absolute".to_owned()
}

fn two() -> usize {
    2
}

fn layer_norm_eps() -> f32 {
    1e-12
}

/// The non-linearity between the two halves of a feed-forward block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Activation {
    /// `x * Phi(x)` with the Gaussian distribution function (Hendrycks and Gimpel, arXiv:1606.08415).
    #[default]
    #[serde(rename = "gelu")]
    Gelu,
    /// The same paper's approximation by a hyperbolic tangent.
    #[serde(rename = "gelu_new", alias = "gelu_pytorch_tanh")]
    GeluTanh,
    /// `max(x, 0)`.
    #[serde(rename = "relu")]
    Relu,
}

impl BertConfig {
    /// Reads `config.json` of `dir`.
    ///
    /// # Errors
    /// The file is missing or unreadable, or describes an encoder of another family.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join("config.json");
        let config: Self = read_json(&path)?.ok_or_else(|| {
            Error::from(UserError::NotFound {
                what: format!("the encoder's configuration {}", path.display()),
                hint:
                    "a model folder holds config.json, tokenizer.json and model.safetensors, or an .onnx file"
                        .to_owned(),
            })
        })?;
        config.check(&path)?;
        Ok(config)
    }

    fn check(&self, path: &Path) -> Result<()> {
        let who = || format!("the encoder runtime ({})", path.display());
        let unsupported = |what: String| Err(UserError::Unsupported { who: who(), what }.into());
        if !matches!(
            self.model_type.as_str(),
            "bert" | "roberta" | "xlm-roberta" | "camembert" | "deberta-v2"
        ) {
            return unsupported(format!(
                "build a model of type `{}` from safetensors: it builds BERT, RoBERTa and DeBERTa-v2 encoders; put the model's \
                 .onnx export into the folder instead",
                self.model_type
            ));
        }
        if self.is_deberta() {
            let kinds = self.pos_att_type.to_string();
            let parts = [
                (!self.relative_attention, "attention without relative positions"),
                (!self.share_att_key, "matrices of their own for positions"),
                (!(kinds.contains("c2p") && kinds.contains("p2c")), "only one of the two scores by position"),
                (self.position_biased_input, "absolute positions beside relative ones"),
                (self.conv_kernel_size > 0, "a convolution"),
                (self.embedding_size.is_some_and(|n| n != self.hidden_size), "embeddings of another size"),
            ];
            if let Some((_, part)) = parts.iter().find(|(has, _)| *has) {
                return unsupported(format!("build a DeBERTa model with {part}; use its .onnx export"));
            }
        }
        if self.position_embedding_type != "absolute" {
            return unsupported(format!("use {} position embeddings", self.position_embedding_type));
        }
        let sizes = [
            self.vocab_size,
            self.hidden_size,
            self.num_attention_heads,
            self.intermediate_size,
            if self.is_deberta() { 1 } else { self.type_vocab_size },
        ];
        if sizes.contains(&0) || !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            return Err(InternalError::Damaged {
                path: path.display().to_string(),
                message: format!(
                    "hidden_size {} does not split into num_attention_heads {}, or a size is zero",
                    self.hidden_size, self.num_attention_heads
                ),
            }
            .into());
        }
        if self.max_tokens() == 0 {
            return unsupported("run a model without positions".to_owned());
        }
        Ok(())
    }

    /// Whether it is a DeBERTa-v2 or v3.
    pub(crate) fn is_deberta(&self) -> bool {
        self.model_type == "deberta-v2"
    }

    /// Its relative positions; `None` for an encoder with absolute ones.
    pub(crate) fn relative(&self) -> Option<Relative> {
        if !self.is_deberta() {
            return None;
        }
        let farthest = match usize::try_from(self.max_relative_positions) {
            Ok(n) if n > 0 => n,
            _ => self.max_position_embeddings,
        };
        let buckets = usize::try_from(self.position_buckets).ok().filter(|n| *n > 0);
        let normalised = self.norm_rel_ebd.contains("layer_norm");
        Some(Relative { span: buckets.unwrap_or(farthest), buckets, farthest, normalised })
    }

    /// Numbers in one head.
    pub fn head_size(&self) -> usize {
        self.hidden_size / self.num_attention_heads.max(1)
    }

    /// The row of the position table that the first token takes: RoBERTa's rows begin after the padding token's.
    pub fn first_position(&self) -> usize {
        if self.model_type == "bert" || self.is_deberta() { 0 } else { self.pad_token_id + 1 }
    }

    /// The longest sequence that has a position for each token.
    pub fn max_tokens(&self) -> usize {
        self.max_position_embeddings.saturating_sub(self.first_position())
    }
}

/// How the hidden states of a text become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The mean over the tokens of the text, special ones included.
    Mean,
    /// The state of the first token.
    Cls,
}

impl Pooling {
    /// The name that stands in an embedder's identity.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Cls => "cls",
        }
    }

    /// The pooling that `dir` asks for in `1_Pooling/config.json`; the mean where it does not say.
    pub(crate) fn read(dir: &Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct File {
            #[serde(default)]
            pooling_mode_cls_token: bool,
            #[serde(default)]
            pooling_mode_mean_tokens: bool,
        }
        let path = dir.join("1_Pooling").join("config.json");
        match read_json::<File>(&path)? {
            None | Some(File { pooling_mode_mean_tokens: true, .. }) => Ok(Self::Mean),
            Some(File { pooling_mode_cls_token: true, .. }) => Ok(Self::Cls),
            Some(_) => Err(UserError::Unsupported {
                who: format!("the encoder runtime ({})", path.display()),
                what: "pool otherwise than by the mean or the first token".to_owned(),
            }
            .into()),
        }
    }
}

/// The window that `dir` asks for in `sentence_bert_config.json`, in tokens.
pub(crate) fn window(dir: &Path) -> Result<Option<usize>> {
    #[derive(Deserialize)]
    struct File {
        max_seq_length: Option<usize>,
    }
    Ok(read_json::<File>(&dir.join("sentence_bert_config.json"))?.and_then(|file| file.max_seq_length))
}

/// How many tokens a model of any family has positions for, if its `config.json` says so.
pub(crate) fn positions(dir: &Path) -> Result<Option<usize>> {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        model_type: String,
        max_position_embeddings: Option<usize>,
        #[serde(default)]
        pad_token_id: usize,
    }
    let positions = |file: File| {
        let taken = if file.model_type.contains("roberta") { file.pad_token_id + 1 } else { 0 };
        file.max_position_embeddings.map(|rows| rows.saturating_sub(taken))
    };
    Ok(read_json::<File>(&dir.join("config.json"))?.and_then(positions))
}

/// Reads a JSON file; `None` if there is none.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("reading", path, &error)),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        InternalError::Damaged {
            path: path.display().to_string(),
            message: format!("{error}; fetch the model again"),
        }
        .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Result<BertConfig> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.json"), text).unwrap();
        BertConfig::read(dir.path())
    }

    const MINILM: &str = r#"{"model_type": "bert", "vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6,
        "num_attention_heads": 12, "intermediate_size": 1536, "max_position_embeddings": 512, "hidden_act": "gelu"}"#;

    #[test]
    fn reads_the_base_encoder() {
        let config = config(MINILM).unwrap();
        assert_eq!((config.head_size(), config.max_tokens(), config.first_position()), (32, 512, 0));
        assert_eq!(config.hidden_act, Activation::Gelu);
    }

    #[test]
    fn roberta_counts_positions_after_the_padding_token() {
        let text = MINILM.replace("\"bert\"", "\"roberta\", \"pad_token_id\": 1").replace("512", "514");
        let config = config(&text).unwrap();
        assert_eq!((config.first_position(), config.max_tokens()), (2, 512));
    }

    #[test]
    fn says_what_it_cannot_build() {
        let error = config(&MINILM.replace("\"bert\"", "\"distilbert\"")).unwrap_err();
        assert_eq!(error.code(), "unsupported");
        assert!(error.to_string().contains("distilbert"), "{error}");
        let error = config(&MINILM.replace("384", "385")).unwrap_err();
        assert_eq!(error.code(), "damaged");
        let error = BertConfig::read(Path::new("no/such/folder")).unwrap_err();
        assert_eq!(error.code(), "not_found");
    }
}
