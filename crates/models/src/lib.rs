//! Asking models: endpoints, recorded and scripted models, the model store, one retry policy, rate limits, reply cache, cost.

pub mod prompts;
pub mod reply;
