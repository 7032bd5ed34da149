//! Every set of a folder, together.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use counterproof_core::{Error, Result};

use crate::claims::{
    ClimateClaim, Evidence, FeverClaim, FeverousClaim, Fm2Claim, SufficientFactsClaim, SymmetricPair,
    VitaminCPair, WiceClaim,
};
use crate::pairs::{NliPair, RtePair};
use crate::passages::CorpusPassage;
use crate::questions::{
    ConflictNqQuestion, HotpotAdversarial, HotpotQuestion, HotpotWrongAnswer, MultiSpanQuestion,
    NqOpenQuestion, NqOracleQuestion, QampariQuestion, RamDocsQuestion,
};
use crate::read::{BadRow, Row, read};
use crate::spans::SpanQuestion;
use crate::split::{Key, Share, Split, SplitBuilder, Splits};

/// A file that was read, for reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its place under the folder.
    pub file: PathBuf,
    /// Digest of its bytes.
    pub sha256: String,
    /// Rows read.
    pub rows: usize,
    /// Rows that could not be read.
    pub bad: usize,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} rows", self.file.display(), self.rows)?;
        if self.bad > 0 { write!(f, ", {} could not be read", self.bad) } else { Ok(()) }
    }
}

/// The rows of every set that a folder holds.
#[derive(Debug, Clone, Default)]
pub struct Collection {
    /// General pairs of the training pool.
    pub nli_pairs: Vec<NliPair>,
    /// A small sample of MNLI.
    pub mnli: Vec<NliPair>,
    /// A small sample of RTE.
    pub rte: Vec<RtePair>,
    /// English questions with spans of the training pool.
    pub spans_en: Vec<SpanQuestion>,
    /// Chinese ones.
    pub spans_zh: Vec<SpanQuestion>,
    /// FEVER paper_test.
    pub fever: Vec<FeverClaim>,
    /// FEVER-symmetric 0.1.
    pub symmetric_v01: Vec<SymmetricPair>,
    /// FEVER-symmetric 0.2, dev.
    pub symmetric_v02: Vec<SymmetricPair>,
    /// SufficientFacts over FEVER.
    pub sufficient_fever: Vec<SufficientFactsClaim>,
    /// SufficientFacts over HoVer.
    pub sufficient_hover: Vec<SufficientFactsClaim>,
    /// VitaminC.
    pub vitaminc: Vec<VitaminCPair>,
    /// Fool Me Twice, dev.
    pub fm2: Vec<Fm2Claim>,
    /// FEVEROUS, dev.
    pub feverous: Vec<FeverousClaim>,
    /// Climate-FEVER.
    pub climate_fever: Vec<ClimateClaim>,
    /// WiCE, dev.
    pub wice: Vec<WiceClaim>,
    /// NQ-open, dev.
    pub nq_open: Vec<NqOpenQuestion>,
    /// NQ with the passage that answers.
    pub nq_oracle: Vec<NqOracleQuestion>,
    /// HotpotQA with paragraphs.
    pub hotpotqa: Vec<HotpotQuestion>,
    /// HotpotQA with planted paragraphs.
    pub hotpotqa_adversarial: Vec<HotpotAdversarial>,
    /// The answers that planted paragraphs lead to.
    pub hotpotqa_wrong: Vec<HotpotWrongAnswer>,
    /// RAMDocs.
    pub ramdocs: Vec<RamDocsQuestion>,
    /// MultiSpanQA.
    pub multispanqa: Vec<MultiSpanQuestion>,
    /// ConflictNQ.
    pub conflictnq: Vec<ConflictNqQuestion>,
    /// QAMPARI, dev.
    pub qampari: Vec<QampariQuestion>,
    /// The retrieval corpus.
    pub passages: Vec<CorpusPassage>,
    /// What was read.
    pub sources: Vec<Source>,
    /// Sets that the folder lacks, by their place under it.
    pub missing: Vec<PathBuf>,
    /// Rows that could not be read.
    pub bad: Vec<BadRow>,
}

/// How much of each set is kept for reports. The default keeps at least 150 rows of each, mostly over 300, for
/// sets whose figure is reported.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitShares {
    /// Salt of the hash: another one gives other sides.
    pub salt: String,
    /// Share of what is left that is for validation.
    pub validation: f64,
    /// This many claims of FEVER, evenly over its three labels.
    pub fever: usize,
    /// Share of SufficientFacts (FEVER).
    pub sufficient_fever: f64,
    /// Share of SufficientFacts (HoVer).
    pub sufficient_hover: f64,
    /// Share of FEVER-symmetric 0.2, whose twins in 0.1 are kept out with it.
    pub symmetric_v02: f64,
    /// Share of VitaminC.
    pub vitaminc: f64,
    /// Share of Fool Me Twice.
    pub fm2: f64,
    /// Share of FEVEROUS.
    pub feverous: f64,
    /// Share of Climate-FEVER.
    pub climate_fever: f64,
    /// Share of WiCE.
    pub wice: f64,
    /// Share of the questions of NQ with passages.
    pub nq_oracle: f64,
    /// Share of HotpotQA with planted paragraphs.
    pub hotpotqa_adversarial: f64,
    /// Share of RAMDocs.
    pub ramdocs: f64,
    /// Share of MultiSpanQA.
    pub multispanqa: f64,
    /// Share of ConflictNQ.
    pub conflictnq: f64,
    /// Share of QAMPARI, which is for reports only.
    pub qampari: f64,
}

impl Default for SplitShares {
    fn default() -> Self {
        Self {
            salt: "counterproof-1".into(),
            validation: 0.05,
            fever: 1000,
            sufficient_fever: 0.35,
            sufficient_hover: 0.35,
            symmetric_v02: 1.0,
            vitaminc: 1.0,
            fm2: 0.4,
            feverous: 0.4,
            climate_fever: 0.4,
            wice: 0.35,
            nq_oracle: 0.4,
            hotpotqa_adversarial: 1.0,
            ramdocs: 0.65,
            multispanqa: 0.55,
            conflictnq: 0.75,
            qampari: 1.0,
        }
    }
}

impl Collection {
    /// Reads every known set under `folder`; sets that are not there are listed in `missing`.
    ///
    /// # Errors
    /// When a file is there and cannot be read as a whole.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        let mut out = Self::default();
        let mut reader =
            Folder { root: folder.as_ref(), sources: Vec::new(), missing: Vec::new(), bad: Vec::new() };
        out.nli_pairs = reader.rows("train/nli_pairs.jsonl.gz")?;
        out.mnli = reader.rows("nli_small/mnli.jsonl")?;
        out.rte = reader.rows("nli_small/rte.jsonl")?;
        out.spans_en = reader.rows("train/qa_spans_en.jsonl.gz")?;
        out.spans_zh = reader.rows("train/qa_spans_zh.jsonl.gz")?;
        out.fever = reader.rows("fever/paper_test_with_evidence.jsonl")?;
        out.symmetric_v01 = reader.rows("fever_symmetric/v0.1_full.jsonl")?;
        out.symmetric_v02 = reader.rows("fever_symmetric/v0.2_dev.jsonl")?;
        out.sufficient_fever = reader.rows("sufficient_facts/fever.jsonl")?;
        out.sufficient_hover = reader.rows("sufficient_facts/hover.jsonl")?;
        out.vitaminc = reader.rows("vitaminc/sample_400.jsonl")?;
        out.fm2 = reader.rows("fm2/dev.jsonl")?;
        out.feverous = reader.rows("feverous/dev_with_evidence.json")?;
        out.climate_fever = reader.rows("climate_fever/climate_fever.jsonl")?;
        out.wice = reader.rows("wice/oracle_chunks_claim_dev.jsonl")?;
        out.nq_open = reader.rows("nq_open/NQ-open.dev.jsonl")?;
        out.nq_oracle = reader.rows("nq_open/oracle_passages.jsonl")?;
        out.hotpotqa = reader.rows("hotpotqa/train_100_distractor.json")?;
        out.hotpotqa_adversarial = reader.rows("hotpotqa/adversarial_with_paragraphs.json")?;
        out.hotpotqa_wrong = reader.rows("hotpotqa/adversarial_wrong_answers.jsonl")?;
        out.ramdocs = reader.rows("ramdocs/ramdocs.jsonl")?;
        out.multispanqa = reader.rows("multispanqa/valid.json")?;
        out.conflictnq = reader.rows("conflictnq/val.jsonl")?;
        out.qampari = reader.rows("qampari/dev.json")?;
        out.passages = reader.rows("wiki_passages/passages.jsonl.gz")?;
        (out.sources, out.missing, out.bad) = (reader.sources, reader.missing, reader.bad);
        Ok(out)
    }

    /// The sides of all claims and questions, with `shares` of each set kept for reports.
    ///
    /// A pair of FEVER-symmetric has twins that share its sentence under another claim. Their claims are kept out of
    /// training too, and so is every claim of another set that is judged by a sentence of a reported pair: see
    /// [`Self::reported_sentences`].
    pub fn splits(&self, shares: &SplitShares) -> Splits {
        let mut builder = SplitBuilder::new(shares.salt.clone(), shares.validation);
        let mut part = |name: &'static str, share: f64, texts: Vec<&str>| {
            builder.keep(name, Share::Part(share), texts.into_iter().map(|t| (t, ())));
        };
        let over_fever = self.sufficient_fever.iter().map(|r| r.claim.as_str()).collect();
        let over_hover = self.sufficient_hover.iter().map(|r| r.claim.as_str()).collect();
        part("sufficient-facts-fever", shares.sufficient_fever, over_fever);
        part("sufficient-facts-hover", shares.sufficient_hover, over_hover);
        part(
            "fever-symmetric",
            shares.symmetric_v02,
            self.symmetric_v02.iter().map(|r| r.claim.as_str()).collect(),
        );
        part("vitaminc", shares.vitaminc, self.vitaminc.iter().map(|r| r.claim.as_str()).collect());
        part("fm2", shares.fm2, self.fm2.iter().map(|r| r.claim.as_str()).collect());
        part("feverous", shares.feverous, self.feverous.iter().map(|r| r.claim.as_str()).collect());
        part(
            "climate-fever",
            shares.climate_fever,
            self.climate_fever.iter().map(|r| r.claim.as_str()).collect(),
        );
        part("wice", shares.wice, self.wice.iter().map(|r| r.claim.as_str()).collect());
        part("nq-oracle", shares.nq_oracle, self.nq_oracle.iter().map(|r| r.question.as_str()).collect());
        let adversarial = self.hotpotqa_adversarial.iter().map(|r| r.question.as_str()).collect();
        part("hotpotqa-adversarial", shares.hotpotqa_adversarial, adversarial);
        part("ramdocs", shares.ramdocs, self.ramdocs.iter().map(|r| r.question.as_str()).collect());
        part(
            "multispanqa",
            shares.multispanqa,
            self.multispanqa.iter().map(|r| r.question.as_str()).collect(),
        );
        part("conflictnq", shares.conflictnq, self.conflictnq.iter().map(|r| r.question.as_str()).collect());
        part("qampari", shares.qampari, self.qampari.iter().map(|r| r.question.as_str()).collect());
        let claims = self.fever.iter().map(|r| (r.claim.as_str(), r.verdict));
        builder.keep("fever", Share::Balanced(shares.fever), claims);
        builder.build()
    }

    /// The sentences of FEVER-symmetric pairs that are kept for reports. A training row that rests on one of them
    /// would teach half of a reported pair, so it has to go, whatever its claim.
    pub fn reported_sentences(&self, splits: &Splits) -> HashSet<Key> {
        let reported = self.symmetric_v02.iter().filter(|r| splits.of(&r.claim) == Split::Report);
        reported.map(|r| Key::of(&r.evidence)).collect()
    }

    /// The texts of the corpus as evidence.
    pub fn corpus(&self) -> impl Iterator<Item = Evidence> {
        self.passages.iter().map(|p| Evidence { title: p.0.title.clone(), text: p.0.text.clone() })
    }
}

struct Folder<'a> {
    root: &'a Path,
    sources: Vec<Source>,
    missing: Vec<PathBuf>,
    bad: Vec<BadRow>,
}

impl Folder<'_> {
    fn rows<R: Row>(&mut self, file: &str) -> Result<Vec<R>> {
        let path = self.root.join(file);
        match read::<R>(&path) {
            Ok(rows) => {
                self.sources.push(Source {
                    file: PathBuf::from(file),
                    sha256: rows.sha256.as_str().to_owned(),
                    rows: rows.rows.len(),
                    bad: rows.bad.len(),
                });
                self.bad.extend(rows.bad);
                Ok(rows.rows)
            }
            Err(Error::User(counterproof_core::UserError::NotFound { .. })) => {
                self.missing.push(PathBuf::from(file));
                Ok(Vec::new())
            }
            Err(e) => Err(e),
        }
    }
}
