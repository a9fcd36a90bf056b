//! How an input sets its table up, and how inputs are read.
//!
//! Not with a derived `Arbitrary` where an enum is concerned: that spends four bytes on a choice, and
//! libFuzzer begins with inputs of a few bytes and is slow to try longer ones.

use arbitrary::{Arbitrary, Result, Unstructured};
use nulls::{Collector, Growth};

use crate::quality::Quality;

/// How many steps of an input are taken at most.
const MAX_STEPS: usize = 300;

/// What the steps of an input may cost together, so that none takes long: 1 each, but
/// [`Setup::cost_of_all`] where all keys are touched.
const MAX_COST: usize = 8_000;

/// What all the rest of an input says.
pub(crate) fn steps<'a, T: Arbitrary<'a>>(u: &mut Unstructured<'a>) -> Result<Vec<T>> {
    let mut steps = Vec::new();
    while !u.is_empty() && steps.len() < MAX_STEPS {
        steps.push(u.arbitrary()?);
    }
    Ok(steps)
}

#[derive(Arbitrary, Debug)]
pub(crate) struct Setup {
    pub(crate) quality: Quality,
    keys: u8,
    shift: u8,
    fixed: bool,
    capacity: u8,
    batch: Option<u8>,
}

impl Setup {
    /// How many keys there are: few, so that they meet again; sometimes enough for an array whose
    /// migration takes several operations. With a hasher that makes long chains only a few hundred.
    pub(crate) fn keys(&self) -> u16 {
        let sizes = if self.quality.is_slow() { 6 } else { 8 };
        8 << (self.keys % sizes)
    }

    /// The key that a byte means: all bytes together are spread over all keys.
    pub(crate) fn key(&self, byte: u8) -> u16 {
        let key = u32::from(byte) * u32::from(self.keys()) / 256;
        key.try_into().expect("below the number of keys")
    }

    /// `count` keys from that of `first` on, or more of them where there are more keys than bytes.
    pub(crate) fn run(&self, first: u8, count: u8) -> impl Iterator<Item = u16> + use<> {
        let (keys, first) = (self.keys(), self.key(first));
        let count = u16::from(count) * (keys / 256).max(1);
        (0..count).map(move |i| (first + i) % keys)
    }

    /// The first steps, as many as may be taken.
    pub(crate) fn affordable<T>(
        &self,
        steps: Vec<T>,
        touches_all: impl Fn(&T) -> bool,
    ) -> impl Iterator<Item = T> {
        let mut cost = 0;
        let cost_of_all = self.cost_of_all();
        steps.into_iter().take_while(move |step| {
            cost += if touches_all(step) { cost_of_all } else { 1 };
            cost <= MAX_COST
        })
    }

    fn cost_of_all(&self) -> usize {
        let keys_and_buckets = usize::from(self.keys()) + self.capacity() / 4;
        keys_and_buckets * if self.quality.is_slow() { 4 } else { 1 }
    }

    pub(crate) fn shift(&self) -> u32 {
        u32::from(self.shift) % 33
    }

    pub(crate) fn growth(&self) -> Growth {
        if self.fixed {
            Growth::Fixed
        } else {
            Growth::Auto
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        8 * usize::from(self.capacity)
    }

    /// A collector to give to the table, with a batch size that frees early.
    pub(crate) fn collector(&self) -> Option<Collector> {
        let batch = usize::from(self.batch?);
        Some(Collector::builder().batch_size(batch).build())
    }
}
