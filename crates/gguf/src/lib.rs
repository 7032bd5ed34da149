//! A GGUF language model in process, in pure Rust through candle.
