//! What the engine itself costs in a batch: CPU a question, and the share of the throughput that the limit on
//! concurrent calls allows. A model server of our own answers each call after 50 ms; the program runs as a process of
//! its own, so that the server's work is not counted.
//!
//! ```text
//! cargo build --release -p counterproof-cli
//! cargo run --release -p counterproof-cli --example batch_overhead -- [ROWS] [CONCURRENCY]
//! ```

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../tests/support/mock.rs"]
mod mock;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const DELAY: Duration = Duration::from_millis(50);

/// Seconds of CPU that the children of this process have used: fields 16 and 17 of `/proc/self/stat`, in ticks of
/// which Linux shows 100 a second.
fn cpu_of_children() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |i: usize| fields.get(i)?.parse::<f64>().ok();
    Some((ticks(13)? + ticks(14)?) / 100.0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rows: usize = arguments.next().map_or(Ok(2000), |a| a.parse())?;
    let concurrency: usize = arguments.next().map_or(Ok(16), |a| a.parse())?;
    let here = std::env::current_exe()?;
    let program = here.parent().and_then(|p| p.parent()).ok_or("no build folder")?.join("counterproof");
    let dir = tempfile::tempdir()?;
    let input: String = (0..rows)
        .map(|i| {
            let row = serde_json::json!({
                "question": format!("In what year was laboratory {i} founded?"),
                "draft": "1912",
                "passages": [
                    {"title": "Laboratory", "text": format!("Laboratory {i} was founded in 1913 on the bank of the river, and moved in 1950.")},
                    {"title": "Observatory", "text": "The observatory on the hill was opened in 1889 by the town and closed in 1990."},
                    {"title": "Library", "text": "The library holds two million books, most of them on the history of the region."},
                ],
            });
            format!("{row}\n")
        })
        .collect();
    std::fs::write(dir.path().join("in.jsonl"), input)?;
    let model = mock::MockModel::start(DELAY, |body| {
        let number =
            body.split("laboratory ").nth(1).and_then(|t| t.split(' ').next()).unwrap_or("0").to_owned();
        Ok(format!("DECISION: REVISE\nANSWER: 1913\nEVIDENCE: Laboratory {number} was founded in 1913"))
    });

    let before = cpu_of_children().ok_or("this needs /proc")?;
    let start = Instant::now();
    let status = Command::new(program)
        .args(["batch", "repair", "--input", "in.jsonl", "--output", "out.jsonl", "--quiet"])
        .args(["--model", &model.spec(), "--concurrency", &concurrency.to_string()])
        .env("COUNTERPROOF_HOME", dir.path())
        .current_dir(dir.path())
        .stdout(Stdio::null())
        .status()?;
    let wall = start.elapsed().as_secs_f64();
    let cpu = cpu_of_children().ok_or("this needs /proc")? - before;
    let out = std::fs::read_to_string(dir.path().join("out.jsonl"))?;
    let revised = out.lines().filter(|line| line.contains("\"decision\":\"revise\"")).count();
    if !status.success() || revised != rows {
        return Err(format!("{revised} of {rows} rows were revised").into());
    }
    let ideal = (rows as f64 / concurrency as f64).ceil() * DELAY.as_secs_f64();
    println!(
        "{rows} questions, {concurrency} at a time, {} model calls of {} ms",
        model.calls(),
        DELAY.as_millis()
    );
    println!("CPU a question          {:.3} ms   (wanted: under 1 ms)", cpu * 1000.0 / rows as f64);
    println!("share of the throughput {:.1} %    (wanted: at least 90 %)", 100.0 * ideal / wall);
    Ok(())
}
