//! Writes the encoder of a model folder as an ONNX file: `export_onnx MODEL_DIR OUT_DIR`.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use counterproof_encoders::{Head, export_onnx};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(dir), Some(out)) = (arguments.next(), arguments.next()) else {
        return Err("usage: export_onnx MODEL_DIR OUT_DIR".into());
    };
    println!("{}", export_onnx(dir, Head::HiddenStates, out)?.display());
    Ok(())
}
