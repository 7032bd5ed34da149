//! A language model that is not there.

use async_trait::async_trait;

use crate::{Capabilities, Completion, CompletionRequest, Error, LanguageModel, Result, UserError};

/// Stands where a method takes a language model and encoders do the work. Asking it for a reply is the user's error, and
/// says so.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoModel;

#[async_trait]
impl LanguageModel for NoModel {
    fn identity(&self) -> &str {
        "none"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { local: true, ..Capabilities::default() }
    }

    async fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        Err(Error::from(UserError::Unsupported {
            who: "--model none".to_owned(),
            what: format!("write a reply, which the stage `{}` needs: name a language model", request.stage),
        }))
    }
}
