//! Writing an encoder as an ONNX file, so that its weights run anywhere that ONNX does.
//!
//! The graph is written once from `config.json` and `model.safetensors`; it takes `input_ids`, `attention_mask` and
//! `token_type_ids` (`batch x sequence`, 64-bit) and holds its weights itself. The file is written in one pass: a
//! tensor at a time is in memory.

mod bert;
mod graph;
mod proto;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use counterproof_core::{Error, Result, UserError};

use self::bert::BertGraph;
use self::graph::{Data, Element, Initializer, OPSET};
use self::proto::Message;
use crate::config::BertConfig;
use crate::digest::file_sha256;
use crate::files::temporary_in;
use crate::weights::Weights;

/// Changes whenever the same weights give another graph.
const WRITER_VERSION: u32 = 1;

/// The version of the file format whose field numbers are used; every runtime of the last years reads it.
const IR_VERSION: i64 = 8;

/// The greatest message that protocol buffers allow.
const MAX_BYTES: u64 = i32::MAX as u64;

/// What stands on top of the encoder and gives the graph its outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Head {
    /// Nothing: the output `last_hidden_state`, `batch x sequence x hidden`, as embeddings are pooled from.
    HiddenStates,
}

impl Head {
    fn name(self) -> &'static str {
        match self {
            Self::HiddenStates => "hidden-states",
        }
    }
}

/// Writes the encoder of the model folder `dir` as an ONNX file into the folder `out` and returns its path.
///
/// The file's name tells the head, the weights (by the start of their SHA-256) and the version of the writer, so a
/// file that is there already is the same one and is left as it is. It appears whole or not at all.
///
/// # Errors
/// The folder holds no encoder that can be written, the file would pass two gigabytes (the limit of the format), or
/// `out` cannot be written to.
pub fn export_onnx(dir: impl AsRef<Path>, head: Head, out: impl AsRef<Path>) -> Result<PathBuf> {
    let (dir, out) = (dir.as_ref(), out.as_ref());
    let config = BertConfig::read(dir)?;
    if config.is_deberta() {
        let (who, what) =
            (dir.display().to_string(), "be written as ONNX: the graph of BERT has absolute positions");
        return Err(UserError::Unsupported { who, what: what.to_owned() }.into());
    }
    let weights = Weights::open(&dir.join("model.safetensors"))?;
    let digest = file_sha256(&dir.join("model.safetensors"))?;
    let short = digest.get(..16).unwrap_or_default();
    let path = out.join(format!("{}-{short}-v{WRITER_VERSION}.onnx", head.name()));
    if path.is_file() {
        return Ok(path);
    }
    let bert = BertGraph::build(&weights, &config, head)?;
    let failed = |error: std::io::Error| Error::io("writing", &path, &error);
    std::fs::create_dir_all(out).map_err(failed)?;
    let mut file = temporary_in(out).map_err(failed)?;
    write(file.as_file_mut(), &bert, &digest, &path)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(path)
}

fn write(file: &mut File, bert: &BertGraph<'_>, digest: &str, path: &Path) -> Result<()> {
    let mut nodes = Message::new().text(2, "encoder");
    for node in &bert.graph.nodes {
        nodes = nodes.message(1, node);
    }
    for input in &bert.inputs {
        nodes = nodes.message(11, input);
    }
    for output in &bert.outputs {
        nodes = nodes.message(12, output);
    }
    let tensors: Vec<(Message, &Initializer)> =
        bert.graph.initializers.iter().map(|tensor| (opening(tensor), tensor)).collect();
    let length = nodes.as_bytes().len() as u64
        + tensors
            .iter()
            .map(|(opening, tensor)| opening.as_bytes().len() as u64 + data_bytes(tensor))
            .sum::<u64>();

    let note = |key: &str, value: &str| Message::new().text(1, key).text(2, value);
    let mut model = Message::new()
        .int(1, IR_VERSION)
        .text(2, "counterproof")
        .text(3, env!("CARGO_PKG_VERSION"))
        .message(8, &Message::new().text(1, "").int(2, OPSET))
        .message(14, &note("weights_sha256", digest));
    model.bytes_to_come(7, length);
    let whole = length + model.as_bytes().len() as u64;
    if whole > MAX_BYTES {
        return Err(UserError::TooLarge {
            what: "ONNX file of these weights",
            limit: "protocol buffers' message size",
            size: usize::try_from(whole).unwrap_or(usize::MAX),
            max: i32::MAX as usize,
        }
        .into());
    }

    let failed = |error: std::io::Error| Error::io("writing", path, &error);
    let mut out = BufWriter::with_capacity(1 << 20, file);
    out.write_all(model.as_bytes()).map_err(failed)?;
    out.write_all(nodes.as_bytes()).map_err(failed)?;
    for (opening, tensor) in &tensors {
        out.write_all(opening.as_bytes()).map_err(failed)?;
        write_data(&mut out, &tensor.data).map_err(failed)?;
    }
    out.flush().map_err(failed)
}

/// Everything of an initializer but its numbers: the field of the graph, then the tensor up to its raw data.
fn opening(tensor: &Initializer) -> Message {
    let dims = tensor.dims.iter().fold(Message::new(), |message, dim| message.int(1, *dim as i64));
    let mut head = dims.int(2, tensor.element as i64).text(8, &tensor.name);
    head.bytes_to_come(9, data_bytes(tensor));
    let mut field = Message::new();
    field.bytes_to_come(5, head.as_bytes().len() as u64 + data_bytes(tensor));
    field.append(&head)
}

fn data_bytes(tensor: &Initializer) -> u64 {
    let size = match tensor.element {
        Element::Float => 4,
        Element::Int64 => 8,
    };
    tensor.dims.iter().map(|&dim| dim as u64).product::<u64>() * size
}

fn write_data(out: &mut impl Write, data: &Data) -> std::io::Result<()> {
    match data {
        Data::Ints(values) => values.iter().try_for_each(|x| out.write_all(&x.to_le_bytes())),
        Data::Floats(values) => write_floats(out, values.iter()),
        Data::Table(table) => write_floats(out, table.to_vec().iter()),
        Data::Transposed(table, rows, columns) => {
            let values = table.to_vec();
            (0..*columns).try_for_each(|column| {
                write_floats(out, values.iter().skip(column).step_by(*columns).take(*rows))
            })
        }
    }
}

fn write_floats<'a>(out: &mut impl Write, mut values: impl Iterator<Item = &'a f32>) -> std::io::Result<()> {
    values.try_for_each(|x| out.write_all(&x.to_le_bytes()))
}
