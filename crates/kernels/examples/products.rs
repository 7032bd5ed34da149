//! How many arithmetic operations a second the products of an encoder reach on one thread of this machine, for the shapes
//! of all-MiniLM-L6-v2: `products [TOKENS]`. Counted by processor time, so that a busy machine does not hide the kernel.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use counterproof_kernels::matrix::{Left, Panels, Product, Then};

/// Processor time of this thread in seconds, where the system tells.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919) % 17) as f32 / 17.0 - 0.5).collect()
}

/// Runs `f`, which does `operations`, for about a second.
fn measure(what: &str, operations: usize, mut f: impl FnMut()) {
    f();
    let start = cpu_seconds();
    let mut runs = 0;
    while cpu_seconds() - start < 1.0 {
        f();
        runs += 1;
    }
    let seconds = cpu_seconds() - start;
    println!("{what}: {:.1} GFLOP/s", runs as f64 * operations as f64 / seconds / 1e9);
}

fn main() {
    let tokens: usize = std::env::args().nth(1).map_or(512, |tokens| tokens.parse().expect("a number"));
    for (what, depth, columns) in [
        ("queries, keys and values", 384, 1152),
        ("attention output", 384, 384),
        ("inner", 384, 1536),
        ("outer", 1536, 384),
        ("queries, keys and values, backwards", 1152, 384),
    ] {
        let (x, w) = (numbers(tokens * depth), numbers(depth * columns));
        let mut panels = Panels::empty();
        panels.lay_transposed(&w, depth);
        let mut out = vec![0.0; tokens * columns];
        measure(&format!("{what}, {depth} to {columns}"), 2 * tokens * depth * columns, || {
            product(Left::rows(&x, depth, tokens), &panels, &mut out, columns, false);
        });
    }
    // The four thin products of a LoRA pair over a block of 64 tokens.
    let (block, rank, inputs, outputs) = (64, 16, 384, 1536);
    let (x, dy) = (numbers(block * inputs), numbers(block * outputs));
    let (h, g) = (numbers(block * rank), numbers(block * rank));
    let (a, b) = (numbers(inputs * rank), numbers(outputs * rank));
    let mut panels = [const { Panels::empty() }; 4];
    for (panels, matrix) in panels.iter_mut().zip([&a, &b, &h, &g]) {
        panels.lay_rows(rank, 1.0, matrix.chunks_exact(rank));
    }
    let mut thin = vec![0.0; block * rank];
    let (mut da, mut db) = (vec![0.0; inputs * rank], vec![0.0; outputs * rank]);
    measure("LoRA, x A", 2 * block * rank * inputs, || {
        product(Left::rows(&x, inputs, block), &panels[0], &mut thin, rank, false);
    });
    measure("LoRA, dy B", 2 * block * rank * outputs, || {
        product(Left::rows(&dy, outputs, block), &panels[1], &mut thin, rank, false);
    });
    measure("LoRA, dy^T h", 2 * block * rank * outputs, || {
        product(Left::columns(&dy, outputs, outputs), &panels[2], &mut db, rank, true);
    });
    measure("LoRA, x^T g", 2 * block * rank * inputs, || {
        product(Left::columns(&x, inputs, inputs), &panels[3], &mut da, rank, true);
    });
}

fn product(x: Left<'_>, panels: &Panels, out: &mut [f32], columns: usize, accumulate: bool) {
    Product { x, panels, bias: None, out, out_stride: columns, accumulate, then: Then::Keep }.run();
}
