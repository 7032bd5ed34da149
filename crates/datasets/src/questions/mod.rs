//! Sets of questions with passages.

mod conflictnq;
mod hotpotqa;
mod multispanqa;
mod nq;
mod qampari;
mod ramdocs;

pub use conflictnq::ConflictNqQuestion;
pub use hotpotqa::{
    AdversarialParagraph, HotpotAdversarial, HotpotParagraph, HotpotQuestion, HotpotWrongAnswer,
};
pub use multispanqa::MultiSpanQuestion;
pub use nq::{NqOpenQuestion, NqOracleQuestion};
pub use qampari::{QampariKind, QampariQuestion};
pub use ramdocs::{DocumentKind, RamDocsDocument, RamDocsQuestion};
