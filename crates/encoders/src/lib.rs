//! BERT encoders in process: the ONNX graph written from safetensors, run by rten.
