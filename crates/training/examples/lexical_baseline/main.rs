//! What a verifier has to beat: the majority class, a model that sees the statement only, and gradient-boosted trees over
//! the word, value, name and negation features of `counterproof_text::conflict`.
//!
//! `cargo run --release -p counterproof-training --example lexical_baseline -- DATA_FOLDER`

// An example may stop at what it does not expect.
#![allow(clippy::indexing_slicing)]

mod claim_only;
mod scores;

use std::path::PathBuf;
use std::time::Instant;

use claim_only::ClaimOnly;
use counterproof_datasets::Collection;
use counterproof_text::conflict::{FEATURES, compare};
use counterproof_training::data::verifier::{self, Part, VerifierOptions};
use counterproof_training::examples::{Label, PairExample, Target};
use forust_ml::{GradientBooster, Matrix};
use rayon::prelude::*;
use scores::{Offsets, Scores};

type Failure = Box<dyn std::error::Error>;

/// The classes in the order of their numbers.
const CLASSES: [Label; 3] = [Label::Entailment, Label::Neutral, Label::Contradiction];

/// Features, column by column, as the trees take them.
fn columns(pairs: &[&PairExample]) -> Vec<f64> {
    let rows: Vec<_> = pairs.par_iter().map(|p| compare(&p.premise, &p.hypothesis).features).collect();
    (0..FEATURES.len()).flat_map(|at| rows.iter().map(move |row| f64::from(row[at]))).collect()
}

/// One set of trees a class, each against the other two.
struct Trees(Vec<GradientBooster>);

impl Trees {
    fn fit(pairs: &[&PairExample]) -> Result<Self, Failure> {
        let mut trees = Vec::new();
        for class in CLASSES {
            // "Not entailed" is known to be no entailment; whether it is neutral is not known.
            let known: Vec<&PairExample> = pairs
                .iter()
                .copied()
                .filter(|p| class == Label::Entailment || p.target != Target::NotEntailed)
                .collect();
            let is: Vec<f64> =
                known.iter().map(|p| f64::from(u8::from(p.target == Target::Is(class)))).collect();
            let weights: Vec<f64> = known.iter().map(|p| f64::from(p.weight)).collect();
            let data = columns(&known);
            // The objective of the default is the logistic loss.
            let mut booster = GradientBooster::default()
                .set_iterations(250)
                .set_learning_rate(0.1)
                .set_max_leaves(31)
                .set_max_depth(7)
                .set_min_leaf_weight(20.0)
                .set_nbins(64)
                .set_seed(1);
            booster.fit(&Matrix::new(&data, known.len(), FEATURES.len()), &is, &weights, None)?;
            trees.push(booster);
        }
        Ok(Self(trees))
    }

    fn predict(&self, pairs: &[&PairExample]) -> Vec<[f64; 3]> {
        let data = columns(pairs);
        let matrix = Matrix::new(&data, pairs.len(), FEATURES.len());
        let by_class: Vec<Vec<f64>> = self.0.iter().map(|b| b.predict(&matrix, true)).collect();
        (0..pairs.len())
            .map(|row| {
                // Trees give the logit of their class.
                let mut p = [0, 1, 2].map(|class| 1.0 / (1.0 + (-by_class[class][row]).exp()));
                let sum: f64 = p.iter().sum();
                p.iter_mut().for_each(|x| *x /= sum);
                p
            })
            .collect()
    }
}

fn main() -> Result<(), Failure> {
    let folder = std::env::args().nth(1).map(PathBuf::from).ok_or("usage: lexical_baseline DATA_FOLDER")?;
    let data = verifier::build(&Collection::read(folder)?, &VerifierOptions::default())?;
    let train: Vec<&PairExample> = data.train.iter().flat_map(|p| &p.examples).collect();
    let validation: Vec<&PairExample> = data.validation.iter().flat_map(|p| &p.examples).collect();
    println!("{} training pairs, {} validation pairs", train.len(), validation.len());
    time_a_pair(&train);
    let began = Instant::now();
    let trees = Trees::fit(&train)?;
    println!("trees: fitted in {:.0} s", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let words = ClaimOnly::fit(&train);
    println!("claim only: fitted in {:.0} s", began.elapsed().as_secs_f64());
    let tree_offsets = Offsets::fit(&validation, &trees.predict(&validation));
    let word_offsets = Offsets::fit(&validation, &words.predict(&validation));
    println!("\n{}", Scores::HEAD);
    let mut macros = [Vec::new(), Vec::new(), Vec::new()];
    for part in &data.report {
        for (model, (name, scores)) in
            scored(part, &trees, &tree_offsets, &words, &word_offsets).into_iter().enumerate()
        {
            println!("{}", scores.line(part.name, name));
            macros[model].push(scores.macro_f1);
        }
    }
    for (name, list) in ["majority", "claim only", "trees"].iter().zip(&macros) {
        println!(
            "mean macro-F1 over {} sets, {name}: {:.3}",
            list.len(),
            list.iter().sum::<f64>() / list.len().max(1) as f64
        );
    }
    Ok(())
}

fn scored(
    part: &Part,
    trees: &Trees,
    tree_offsets: &Offsets,
    words: &ClaimOnly,
    word_offsets: &Offsets,
) -> Vec<(&'static str, Scores)> {
    let pairs: Vec<&PairExample> = part.examples.iter().collect();
    vec![
        ("majority", Scores::of_majority(&pairs)),
        ("claim only", Scores::of(&pairs, &word_offsets.apply(&words.predict(&pairs)))),
        ("trees", Scores::of(&pairs, &tree_offsets.apply(&trees.predict(&pairs)))),
    ]
}

/// How long a comparison takes on one thread.
fn time_a_pair(pairs: &[&PairExample]) {
    let some: Vec<&&PairExample> = pairs.iter().step_by(pairs.len().div_ceil(2000).max(1)).collect();
    let began = Instant::now();
    let found: usize = some.iter().map(|p| compare(&p.premise, &p.hypothesis).conflicts.len()).sum();
    let each = began.elapsed().as_secs_f64() / some.len().max(1) as f64;
    println!("{:.0} microseconds a comparison over {} pairs, {found} conflicts", each * 1e6, some.len());
}
