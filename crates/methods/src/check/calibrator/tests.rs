use super::*;

/// Rows whose truth follows known odds of their numbers, by a fixed sequence of fractions.
fn rows(n: usize) -> Vec<CalibrationRow> {
    let mut state = 7u64;
    let mut unit = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..n)
        .map(|i| {
            let (score, votes, words) = (unit(), unit(), 5.0 + 20.0 * unit());
            let odds = 3.0 * score - 2.0 + 1.5 * votes;
            let right = unit() < 1.0 / (1.0 + (-odds).exp());
            let features = Features {
                score,
                support: score,
                vote_share: (i % 4 != 0).then_some(votes),
                claim_words: words,
                ..Features::default()
            };
            // Where the votes are not known, the odds are those of the mean.
            CalibrationRow { features, right, group: format!("claim {i}"), given: true }
        })
        .collect()
}

fn brier(calibrator: &Calibrator, rows: &[CalibrationRow]) -> f64 {
    let error = |row: &CalibrationRow| calibrator.confidence(&row.features) - f64::from(u8::from(row.right));
    rows.iter().map(|row| error(row) * error(row)).sum::<f64>() / rows.len() as f64
}

fn ece(calibrator: &Calibrator, rows: &[CalibrationRow]) -> f64 {
    let mut bins = [(0.0, 0.0, 0.0); 10];
    for row in rows {
        let p = calibrator.confidence(&row.features);
        let bin = &mut bins[((p * 10.0).ceil() as usize).clamp(1, 10) - 1];
        *bin = (bin.0 + p, bin.1 + f64::from(u8::from(row.right)), bin.2 + 1.0);
    }
    bins.iter().map(|(p, right, _)| (p - right).abs()).sum::<f64>() / rows.len() as f64
}

#[test]
fn known_odds_are_recovered_and_beat_the_raw_score() {
    let all = rows(20_000);
    let raw = brier(&Calibrator::none(), &all);
    for kind in [
        CalibratorKind::Logistic,
        CalibratorKind::Platt,
        CalibratorKind::Isotonic,
        CalibratorKind::Temperature,
    ] {
        let fitted = Calibrator::fit(&all, kind, "a test").unwrap();
        assert!(brier(&fitted, &all) < raw, "{kind:?}");
        if kind != CalibratorKind::Temperature {
            assert!(ece(&fitted, &all) < 0.03, "{kind:?}: {}", ece(&fitted, &all));
        }
        let json = serde_json::to_string(&fitted).unwrap();
        assert_eq!(Calibrator::from_json(&json, "x").unwrap(), fitted);
        assert_eq!(fitted.kind(), kind);
    }
    let lean = Calibrator::fit(&all, CalibratorKind::Lean, "a test").unwrap();
    assert!(brier(&lean, &all) < raw);
    let logistic = brier(&Calibrator::fit(&all, CalibratorKind::Logistic, "x").unwrap(), &all);
    assert!(logistic < brier(&Calibrator::fit(&all, CalibratorKind::Platt, "x").unwrap(), &all));
}

#[test]
fn a_feature_that_is_not_known_is_no_zero() {
    let all = rows(4000);
    let fitted = Calibrator::fit(&all, CalibratorKind::Logistic, "a test").unwrap();
    let with = |vote_share| {
        fitted.confidence(&Features {
            score: 0.5,
            support: 0.5,
            vote_share,
            claim_words: 12.0,
            ..Features::default()
        })
    };
    let (unknown, none, all) = (with(None), with(Some(0.0)), with(Some(1.0)));
    assert!(none + 0.1 < unknown && unknown + 0.1 < all, "{none} {unknown} {all}");
}

#[test]
fn the_higher_the_threshold_the_fewer_verdicts() {
    let fitted = Calibrator::fit(&rows(2000), CalibratorKind::Logistic, "a test").unwrap();
    let given = |abstention| {
        let threshold = fitted.threshold(abstention, true).unwrap();
        fitted.held.iter().filter(|h| h.confidence >= threshold).count()
    };
    assert_eq!(given(Abstention::Never), fitted.held.len());
    assert_eq!(given(Abstention::Threshold(0.0)), fitted.held.len());
    assert_eq!(given(Abstention::Threshold(1.01)), 0);
    let counts: Vec<usize> = (0..=20).map(|i| given(Abstention::Threshold(f64::from(i) / 20.0))).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b));
    let half = given(Abstention::Coverage(0.5)) as f64 / fitted.held.len() as f64;
    assert!((half - 0.5).abs() < 0.02, "{half}");
    assert_eq!(given(Abstention::Coverage(0.0)), 0);
}

#[test]
fn a_promised_risk_holds_on_the_claims_to_come() {
    // Many calibrators, each with its own draw of claims; the risk on a large set of others has to keep the promise in
    // at least 95 of 100.
    let all = rows(60_000);
    let (unseen, drawn) = all.split_at(20_000);
    let fitted = Calibrator::fit(&rows(3000), CalibratorKind::Logistic, "a test").unwrap();
    for target in [0.3, 0.35] {
        let (mut broken, mut promised) = (0, 0);
        for draw in drawn.chunks(400) {
            let Ok(threshold) = fitted.clone().holding(draw).threshold(Abstention::Risk(target), true) else {
                continue;
            };
            promised += 1;
            let given: Vec<&CalibrationRow> =
                unseen.iter().filter(|row| fitted.confidence(&row.features) >= threshold).collect();
            let risk = given.iter().filter(|row| !row.right).count() as f64 / given.len().max(1) as f64;
            broken += usize::from(risk > target);
        }
        assert!(promised >= 50 && broken <= 5, "{broken} of {promised} at {target}");
    }
}

#[test]
fn too_few_rows_promise_nothing_and_say_how_many_would() {
    let row = |i: usize, right| CalibrationRow {
        features: Features { score: 0.9, ..Features::default() },
        right,
        group: i.to_string(),
        given: true,
    };
    let right: Vec<CalibrationRow> = (0..40).map(|i| row(i, true)).collect();
    let few = Calibrator::none().holding(&right);
    let error = few.threshold(Abstention::Risk(0.05), true).unwrap_err();
    assert_eq!(error, NoPromise::TooFew { held: 40, needed: 80 });
    // Without an error 40 are enough for 10 %, but only of claims that were judged alike.
    assert!(few.threshold(Abstention::Risk(0.1), true).is_ok());
    assert_eq!(few.threshold(Abstention::Risk(0.1), false), Err(NoPromise::NothingHeld));
    assert_eq!(few.threshold(Abstention::Risk(0.0), true), Err(NoPromise::Zero));
    assert_eq!(few.threshold(Abstention::Risk(1.0), true), Ok(0.0));
    let wrong: Vec<CalibrationRow> = (0..40).map(|i| row(i, i % 2 == 0)).collect();
    let wrong = Calibrator::none().holding(&wrong).threshold(Abstention::Risk(0.1), true);
    assert_eq!(wrong, Err(NoPromise::TooWrong { answered: 40, wrong: 20 }));
    // Sixty rows about one page are one observation.
    let twins: Vec<CalibrationRow> = (0..60).map(|_| row(1, true)).collect();
    let twins = Calibrator::none().holding(&twins).threshold(Abstention::Risk(0.1), true);
    assert_eq!(twins, Err(NoPromise::TooFew { held: 1, needed: 39 }));
}

#[test]
fn rows_of_one_kind_are_smoothed() {
    let right: Vec<CalibrationRow> =
        rows(40).into_iter().map(|r| CalibrationRow { right: true, ..r }).collect();
    let fitted = Calibrator::fit(&right, CalibratorKind::Logistic, "a test").unwrap();
    let p = fitted.confidence(&right[0].features);
    assert!(p > 0.9 && p < 1.0, "{p}");
    assert!(Calibrator::fit(&right[..1], CalibratorKind::Logistic, "x").unwrap_err().is_user());
}

#[test]
fn rows_of_a_group_stay_together() {
    let twins: Vec<CalibrationRow> = rows(400)
        .into_iter()
        .enumerate()
        .map(|(i, r)| CalibrationRow { group: (i / 2).to_string(), ..r })
        .collect();
    let fitted = Calibrator::fit(&twins, CalibratorKind::None, "a test").unwrap();
    // One of each pair is held back, of about half of the 200 pairs.
    assert!(fitted.held.len() > 70 && fitted.held.len() < 130, "{}", fitted.held.len());
}

#[test]
fn a_foreign_file_is_refused_by_name() {
    for text in [
        "{}",
        "[]",
        r#"{"schema":1,"fitted_on":"x","fitted_for":"y","model":{"kind":"logistic","features":["a"],"means":[0],"weights":[1],"missing":[0],"bias":0},"held":[]}"#,
    ] {
        let error = Calibrator::from_json(text, "mine.json").unwrap_err();
        assert!(error.is_user() && error.to_string().contains("mine.json"), "{error}");
    }
}
