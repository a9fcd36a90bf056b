//! A hasher whose hashes are the keys: a model must do the same each time it is run.

use std::hash::{BuildHasherDefault, Hasher};

pub(crate) type Identity = BuildHasherDefault<KeyAsHash>;

#[derive(Default)]
pub(crate) struct KeyAsHash(u64);

impl Hasher for KeyAsHash {
    fn finish(&self) -> u64 {
        self.0
    }

    /// The words of a key of several, which are all the same unless it is torn (1.7).
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        assert!(rest.is_empty(), "keys are words");
        let word = |&bytes: &[u8; 8]| u64::from_ne_bytes(bytes);
        self.0 = words.first().map_or(0, word);
        assert!(words.iter().all(|bytes| word(bytes) == self.0), "torn key");
    }

    fn write_u32(&mut self, key: u32) {
        self.0 = key.into();
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    /// How many words follow.
    fn write_usize(&mut self, _: usize) {}
}
