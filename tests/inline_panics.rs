//! Panics in `Hash`, `Eq` and closures of an inline map: the map is as it was, and nothing stays
//! locked.

#![cfg(all(feature = "std", not(nulls_loom)))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test is a program of std"
)]

mod common;

use core::cell::Cell;
use core::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytemuck::{Pod, Zeroable};
use common::{TestState, Watchdog};
use nulls::InlineHashMap;

thread_local! {
    /// How many hashes are left on this thread before one panics.
    static FUSE: Cell<Option<usize>> = const { Cell::new(None) };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
struct Key(u64);

// SAFETY: a `u64`.
unsafe impl Zeroable for Key {}

// SAFETY: as above.
unsafe impl Pod for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let fuse = FUSE.take();
        assert_ne!(fuse, Some(0), "a key that cannot be hashed");
        FUSE.set(fuse.map(|left| left - 1));
        self.0.hash(state);
    }
}

/// A mover hashes keys that others inserted. One that cannot be hashed keeps its bucket where it is,
/// and the others go on; once it can be, the migration ends by itself.
#[test]
fn a_hash_that_panics_in_a_mover_only_delays_the_migration() {
    let _watchdog = Watchdog::seconds(60);
    let map: InlineHashMap<Key, u64, TestState> = InlineHashMap::default();
    let m = map.pin();
    let mut keys = 0;
    while keys < 2000 || !map.stats().migrating {
        m.insert(Key(keys), keys);
        keys += 1;
    }
    // The first hash is that of the key, the others are of keys that move: of 32 buckets a call.
    for left in [1, 10, 40] {
        FUSE.set(Some(left));
        let call = AssertUnwindSafe(|| m.insert(Key(0), 0));
        assert!(catch_unwind(call).is_err());
        assert!(map.stats().migrating);
    }
    assert!((0..keys).all(|key| m.get(&Key(key)) == Some(key)));
    // Far more writes than the array has buckets.
    for _ in 0..10 * keys {
        m.insert(Key(0), 0);
    }
    let stats = map.stats();
    assert!(!stats.migrating, "the migration never ends: {stats}");
}
