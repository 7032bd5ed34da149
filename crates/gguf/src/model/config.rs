//! What the metadata of a GGUF file says about the shape of its transformer.

use counterproof_core::Result;

use crate::file::GgufFile;

/// The families of models that can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Architecture {
    Llama,
    Qwen2,
    Qwen3,
    Gemma3,
}

impl Architecture {
    const ALL: [(Self, &'static str); 4] =
        [(Self::Llama, "llama"), (Self::Qwen2, "qwen2"), (Self::Qwen3, "qwen3"), (Self::Gemma3, "gemma3")];

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|a| a.1 == name).map(|a| a.0)
    }

    /// The name in `general.architecture`.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|a| a.0 == self).map_or("", |a| a.1)
    }
}

/// Which numbers of a head are turned together by rotary position embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RopePairs {
    /// Neighbours, as in the original paper and in Llama weights after conversion to GGUF.
    Neighbours,
    /// A number of the first half with its counterpart of the second.
    Halves,
}

/// Rotary position embedding (Su et al., 2021).
#[derive(Debug, Clone)]
pub(crate) struct Rope {
    pub(crate) pairs: RopePairs,
    /// Angle a position, for each pair.
    pub(crate) frequencies: Vec<f32>,
}

/// The shape of a transformer.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) architecture: Architecture,
    pub(crate) layers: usize,
    /// Numbers in the vector of a token.
    pub(crate) width: usize,
    pub(crate) hidden: usize,
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    pub(crate) head_dim: usize,
    pub(crate) norm_epsilon: f32,
    pub(crate) vocabulary: usize,
    /// Positions the model was trained for.
    pub(crate) context: usize,
    pub(crate) rope: Rope,
    /// For layers that see a window only.
    pub(crate) local_rope: Rope,
    /// Positions that a windowed layer sees, and after how many layers comes one that sees all.
    pub(crate) window: Option<(usize, usize)>,
    pub(crate) attention_scale: f32,
    pub(crate) embedding_scale: f32,
}

impl Config {
    /// Reads the shape, or says what of it is not supported.
    pub(crate) fn read(file: &GgufFile) -> Result<Self> {
        let name = file
            .text("general.architecture")
            .ok_or_else(|| file.damaged("it does not name its architecture"))?;
        let architecture = Architecture::from_name(name).ok_or_else(|| {
            let known: Vec<_> = Architecture::ALL.iter().map(|a| a.1).collect();
            file.unsupported(format!("its architecture is {name}; supported are {}", known.join(", ")))
        })?;
        let need = |key: &str| {
            let key = format!("{name}.{key}");
            file.integer(&key)
                .and_then(|n| usize::try_from(n).ok())
                .filter(|n| (1..=1 << 28).contains(n))
                .ok_or_else(|| file.damaged(format!("its metadata lack a usable {key}")))
        };
        let optional = |key: &str| file.integer(&format!("{name}.{key}")).map(|n| n as usize);
        if optional("expert_count").is_some_and(|n| n > 0) {
            return Err(file.unsupported("it is a mixture of experts, which is not supported"));
        }
        let width = need("embedding_length")?;
        let heads = need("attention.head_count")?;
        let kv_heads = optional("attention.head_count_kv").unwrap_or(heads);
        let head_dim = optional("attention.key_length").unwrap_or(width / heads);
        if kv_heads == 0 || !heads.is_multiple_of(kv_heads) || head_dim == 0 || !head_dim.is_multiple_of(2) {
            return Err(file.damaged(format!(
                "its metadata give {heads} heads with {kv_heads} for keys and values, of size {head_dim}"
            )));
        }
        if optional("attention.value_length").is_some_and(|n| n != head_dim) {
            return Err(file.unsupported("its keys and values differ in size, which is not supported"));
        }
        let norm_epsilon =
            file.number(&format!("{name}.attention.layer_norm_rms_epsilon")).ok_or_else(|| {
                file.damaged(format!("its metadata lack {name}.attention.layer_norm_rms_epsilon"))
            })?;
        let vocabulary = file.matrix_rows("token_embd.weight")?;
        let layers = need("block_count")?;
        let (rope, local_rope) = ropes(file, architecture, head_dim)?;
        let gemma = architecture == Architecture::Gemma3;
        let window = gemma
            .then(|| optional("attention.sliding_window").filter(|w| *w > 0))
            .flatten()
            .map(|window| (window, 6));
        // Gemma 3 27B alone (62 layers) scales by the width a head would have by the width of the model.
        let query_dim = if gemma && layers == 62 { width / heads } else { head_dim };
        Ok(Self {
            architecture,
            layers,
            width,
            hidden: need("feed_forward_length")?,
            heads,
            kv_heads,
            head_dim,
            norm_epsilon,
            vocabulary,
            context: match original_context(file, name) {
                Some(original) => original.min(need("context_length")?),
                None => need("context_length")?,
            },
            rope,
            local_rope,
            window,
            attention_scale: 1.0 / (query_dim as f32).sqrt(),
            embedding_scale: if gemma { (width as f32).sqrt() } else { 1.0 },
        })
    }

    /// The window of a layer, if it does not see everything before.
    pub(crate) fn layer_window(&self, layer: usize) -> Option<usize> {
        self.window.filter(|(_, pattern)| !(layer + 1).is_multiple_of(*pattern)).map(|(window, _)| window)
    }

    /// Numbers in the keys (and in the values) of one token in one layer.
    pub(crate) fn kv_width(&self) -> usize {
        self.kv_heads * self.head_dim
    }
}

/// The positions before YaRN scaling, where the file has that scaling.
fn original_context(file: &GgufFile, name: &str) -> Option<usize> {
    file.text(&format!("{name}.rope.scaling.type")).filter(|t| *t == "yarn")?;
    file.integer(&format!("{name}.rope.scaling.original_context_length")).map(|n| n as usize)
}

/// The position embedding of layers that see everything, and of those that see a window.
fn ropes(file: &GgufFile, architecture: Architecture, head_dim: usize) -> Result<(Rope, Rope)> {
    let name = architecture.name();
    let pairs = match architecture {
        Architecture::Llama => RopePairs::Neighbours,
        _ => RopePairs::Halves,
    };
    let dims = file.integer(&format!("{name}.rope.dimension_count")).map_or(head_dim, |n| n as usize);
    if dims == 0 || dims > head_dim || !dims.is_multiple_of(2) {
        return Err(
            file.damaged(format!("{name}.rope.dimension_count is {dims} for heads of size {head_dim}"))
        );
    }
    let default_base = if architecture == Architecture::Gemma3 { 1_000_000.0 } else { 10_000.0 };
    let base = file.number(&format!("{name}.rope.freq_base")).unwrap_or(default_base);
    let local_base = file.number(&format!("{name}.rope.freq_base_swa")).unwrap_or(10_000.0);
    let factor = match file.text(&format!("{name}.rope.scaling.type")) {
        None | Some("none") => 1.0,
        Some("linear") => file.number(&format!("{name}.rope.scaling.factor")).unwrap_or(1.0),
        // YaRN stretches positions beyond the original context; within it, which is what `context` allows, plain
        // frequencies are those the model was trained with.
        Some("yarn") if original_context(file, name).is_some() => 1.0,
        Some(other) => {
            return Err(file.unsupported(format!(
                "its positions are scaled in the way {other}; supported are linear and Llama 3's, and YaRN within \
                 the original context"
            )));
        }
    };
    let plain = |base: f32, factor: f32| -> Vec<f32> {
        (0..dims / 2)
            .map(|i| (f64::from(base).powf(-2.0 * i as f64 / dims as f64) / f64::from(factor)) as f32)
            .collect()
    };
    let mut frequencies = plain(base, factor);
    // Llama 3 ships its scaling as a divisor for each frequency.
    if let Some(divisors) = file.optional_vector("rope_freqs.weight", dims / 2)? {
        for (f, d) in frequencies.iter_mut().zip(divisors) {
            *f /= d;
        }
    }
    let local =
        if architecture == Architecture::Gemma3 { plain(local_base, 1.0) } else { frequencies.clone() };
    Ok((Rope { pairs, frequencies }, Rope { pairs, frequencies: local }))
}
