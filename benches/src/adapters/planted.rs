//! A slowdown that the bars must notice: shows that they can fail.

/// Reads a random line of memory before the operation on `key`, if the cfg `nulls_planted_slowdown` says
/// so; does nothing otherwise.
#[inline]
pub(super) fn planted(key: u64) {
    #[cfg(nulls_planted_slowdown)]
    {
        use std::hint::black_box;
        use std::sync::LazyLock;

        const WORDS: usize = 1 << 24;
        static MEMORY: LazyLock<Vec<u64>> =
            LazyLock::new(|| (0..WORDS).map(crate::workloads::key).collect());

        let words = MEMORY.as_slice();
        let at = |word: u64| words[usize::try_from(word).unwrap_or(0) % WORDS];
        black_box(at(at(at(key))));
    }
    #[cfg(not(nulls_planted_slowdown))]
    let _ = key;
}
