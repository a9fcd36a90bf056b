//! Runs models.

use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use loom::sync::atomic::AtomicBool;

use crate::shared::Pin;

/// Checks `body` in every interleaving, and with every value that each load may return, within the
/// usual bound.
///
/// # Panics
///
/// If one of them panics.
pub fn model(body: impl Fn() + Send + Sync + 'static) {
    Model::default().check(body);
}

/// How thoroughly a model is checked.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    preemptions: usize,
}

impl Default for Model {
    /// Two preemptions: threads are interrupted twice in all, wherever it hurts.
    fn default() -> Self {
        Self { preemptions: 2 }
    }
}

impl Model {
    /// Another bound. `LOOM_MAX_PREEMPTIONS` overrides it as it does the usual one.
    pub fn preemptions(preemptions: usize) -> Self {
        Self { preemptions }
    }

    /// As [`model`].
    ///
    /// # Panics
    ///
    /// If an interleaving does.
    pub fn check(self, body: impl Fn() + Send + Sync + 'static) {
        self.check_all([body]);
    }

    /// Checks one after the other, and prints one line for all.
    ///
    /// # Panics
    ///
    /// If an interleaving does.
    pub fn check_all<F: Fn() + Send + Sync + 'static>(self, bodies: impl IntoIterator<Item = F>) {
        let mut builder = loom::model::Builder::new();
        let bound = *builder.preemption_bound.get_or_insert(self.preemptions);
        // Filling a table beforehand takes branches too.
        builder.max_branches = builder.max_branches.max(5_000);

        let (start, iterations) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
        for body in bodies {
            let iterations = Arc::clone(&iterations);
            builder.check(move || {
                iterations.fetch_add(1, Ordering::Relaxed);
                body();
            });
        }

        let name = std::thread::current();
        let line = format!(
            "{}: {} interleavings of at most {bound} preemptions in {:.1} s\n",
            name.name().unwrap_or("a model"),
            iterations.load(Ordering::Relaxed),
            start.elapsed().as_secs_f64(),
        );
        // Past the test harness, which shows what a test prints only if it fails.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

/// Runs `a` and `b` at the same time, each with `shared`.
///
/// The calling thread only waits: switching to either then is no preemption, so neither comes first
/// by default.
pub fn both<T: Clone + 'static, A: 'static, B: 'static>(
    shared: &T,
    a: impl FnOnce(&T) -> A + 'static,
    b: impl FnOnce(&T) -> B + 'static,
) -> (A, B) {
    let (a, b) = (start(shared, a), start(shared, b));
    (a(), b())
}

/// Runs `a`, `b` and `c` at the same time, each with `shared`.
pub fn three<T: Clone + 'static, A: 'static, B: 'static, C: 'static>(
    shared: &T,
    a: impl FnOnce(&T) -> A + 'static,
    b: impl FnOnce(&T) -> B + 'static,
    c: impl FnOnce(&T) -> C + 'static,
) -> (A, B, C) {
    let (a, b, c) = (start(shared, a), start(shared, b), start(shared, c));
    (a(), b(), c())
}

/// Starts a thread with `shared`; the result waits for it.
fn start<T: Clone + 'static, R: 'static>(
    shared: &T,
    body: impl FnOnce(&T) -> R + 'static,
) -> impl FnOnce() -> R {
    let shared = shared.clone();
    let thread = loom::thread::spawn(move || body(&shared));
    || thread.join().expect("a thread that panics ends the model")
}

/// Checks that a thread which sees a change sees all that the one that made it did before.
pub fn brings_the_flag<T: Pin>(
    make: impl Fn() -> T + Send + Sync + 'static,
    change: fn(&T::View<'_>),
    sees_change: fn(&T::View<'_>) -> bool,
) {
    model(move || {
        let shared = (make(), Rc::new(AtomicBool::new(false)));
        both(
            &shared,
            move |(table, flag)| {
                let view = table.pin();
                flag.store(true, Ordering::Relaxed);
                change(&view);
            },
            move |(table, flag)| {
                let view = table.pin();
                if sees_change(&view) {
                    let flag = flag.load(Ordering::Relaxed);
                    assert!(flag, "seen, but not what came before");
                }
            },
        );
    });
}
