//! Which public types may be sent to and shared with other threads: decided when this file is compiled.

#![cfg(all(feature = "std", not(nulls_loom)))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test is a program of std"
)]

use core::cell::Cell;
use core::marker::PhantomData;
use std::rc::Rc;

use nulls::hash::{KeyedHasher, KeyedState, MonotoneHasher, MonotoneState};
use nulls::{
    Builder, Collector, CollectorBuilder, Compute, Growth, Guard, InlineBuilder, InlineCompute,
    InlineHashMap, InlineHashMapRef, InsertError, NullsHashMap, NullsHashMapRef, NullsHashTable,
    NullsHashTableRef, Operation, Prehashed, Stats, TableBuilder, TryReserveError, inline, map,
    table,
};

/// An associated constant of a type comes before one of a trait, if its bounds hold.
struct Probe<T: ?Sized>(PhantomData<T>);

trait Not {
    const SEND: bool = false;
    const SYNC: bool = false;
}

impl<T: ?Sized> Not for Probe<T> {}

impl<T: ?Sized + Send> Probe<T> {
    const SEND: bool = true;
}

impl<T: ?Sized + Sync> Probe<T> {
    const SYNC: bool = true;
}

macro_rules! table {
    ($($type:ty: $send:literal, $sync:literal;)*) => {$(
        const _: () = assert!(Probe::<$type>::SEND == $send, concat!("Send: ", stringify!($type)));
        const _: () = assert!(Probe::<$type>::SYNC == $sync, concat!("Sync: ", stringify!($type)));
    )*};
}

type Both = u64;
/// `Send`, not `Sync`.
type SendOnly = Cell<u64>;
/// Neither.
type Neither = Rc<u64>;

/// A hasher that is neither.
type NeitherState = MonotoneState<PhantomData<Neither>>;

// The probe itself.
table! {
    Both: true, true;
    SendOnly: true, false;
    Neither: false, false;
    std::sync::MutexGuard<'static, u64>: false, true;
}

// Maps: what is removed by one thread may be dropped by another, so `Sync` takes `Send` of keys and values, as of
// every collection that hands out what others put in.
table! {
    NullsHashMap<Both, Both>: true, true;
    NullsHashMap<Both, SendOnly>: true, false;
    NullsHashMap<Both, Neither>: false, false;
    NullsHashMap<SendOnly, Both>: true, false;
    NullsHashMap<Neither, Both>: false, false;
    NullsHashMap<Both, std::sync::MutexGuard<'static, u64>>: false, false;
    NullsHashMap<Both, Both, KeyedState>: true, true;
    NullsHashMap<Both, Both, NeitherState>: false, false;
    Builder<Both, Both>: true, true;
    Builder<Both, Both, NeitherState>: false, false;
}

// Views belong to their thread, whatever is in the map, and so do iterators.
table! {
    NullsHashMapRef<'static, Both, Both>: false, false;
    NullsHashMapRef<'static, Both, SendOnly>: false, false;
    NullsHashMapRef<'static, Both, Neither>: false, false;
    NullsHashMapRef<'static, Both, Both, KeyedState>: false, false;
    NullsHashMapRef<'static, Both, Both, KeyedState, &'static Guard<'static>>: false, false;
    map::Iter<'static, Both, Both>: false, false;
    map::Keys<'static, Both, Both>: false, false;
    map::Values<'static, Both, Both>: false, false;
    map::Iter<'static, Both, Neither>: false, false;
    map::Keys<'static, Both, Neither>: false, false;
    map::Values<'static, Neither, Both>: false, false;
}

// Tables, likewise.
table! {
    NullsHashTable<Both>: true, true;
    NullsHashTable<SendOnly>: true, false;
    NullsHashTable<Neither>: false, false;
    NullsHashTable<std::sync::MutexGuard<'static, u64>>: false, false;
    TableBuilder<Both>: true, true;
    NullsHashTableRef<'static, Both>: false, false;
    NullsHashTableRef<'static, SendOnly>: false, false;
    NullsHashTableRef<'static, Both, &'static Guard<'static>>: false, false;
    table::Iter<'static, Both>: false, false;
    table::Iter<'static, Neither>: false, false;
}

// Inline maps: entries are copied in and out, so `Sync` takes `Send` of them, and nothing else. What is neither cannot
// be in one, as it is not plain data, but the types can be named.
table! {
    InlineHashMap<Both, Both>: true, true;
    InlineHashMap<Both, SendOnly>: true, true;
    InlineHashMap<SendOnly, Both>: true, true;
    InlineHashMap<Both, Neither>: false, false;
    InlineHashMap<Neither, Both>: false, false;
    InlineHashMap<Both, *const u64>: false, false;
    InlineHashMap<Both, std::sync::MutexGuard<'static, u64>>: false, false;
    InlineHashMap<Both, Both, KeyedState>: true, true;
    // Of the hasher there is one, which all threads use.
    InlineHashMap<Both, Both, SendOnly>: true, false;
    InlineHashMap<Both, Both, std::sync::MutexGuard<'static, u64>>: false, true;
    InlineHashMap<Both, Both, NeitherState>: false, false;
    InlineBuilder<Both, Both>: true, true;
    InlineBuilder<Neither, Neither>: true, true;
    InlineBuilder<Both, Both, NeitherState>: false, false;
    InlineHashMapRef<'static, Both, Both>: false, false;
    InlineHashMapRef<'static, Both, Both, KeyedState>: false, false;
    InlineHashMapRef<'static, Both, Both, KeyedState, &'static Guard<'static>>: false, false;
    inline::Iter<'static, Both, Both>: false, false;
    inline::Keys<'static, Both, Both>: false, false;
    inline::Values<'static, Both, Both>: false, false;
    inline::Iter<'static, Both, Both, KeyedState>: false, false;
}

// What is copied out, and hashes, which are numbers whatever the hasher is.
table! {
    InlineCompute<Both>: true, true;
    InlineCompute<SendOnly>: true, false;
    InlineCompute<Neither>: false, false;
    Prehashed<KeyedState>: true, true;
    Prehashed<SendOnly>: true, true;
    Prehashed<NeitherState>: true, true;
}

// References that were gathered: as references are.
table! {
    table::IterHash<'static, Both>: true, true;
    table::IterHash<'static, SendOnly>: false, false;
    table::IterHash<'static, Neither>: false, false;
    Compute<'static, Both, Both>: true, true;
    Compute<'static, Both, SendOnly>: false, false;
    Compute<'static, Neither, Both>: false, false;
}

// Reclamation.
table! {
    Collector: true, true;
    CollectorBuilder: true, true;
    Guard<'static>: false, false;
    &'static Guard<'static>: false, false;
}

// Plain values and errors.
table! {
    Operation<Both>: true, true;
    Operation<SendOnly>: true, false;
    Operation<Neither>: false, false;
    InsertError<(Both, Both), &'static Both>: true, true;
    InsertError<(Both, SendOnly), ()>: true, false;
    InsertError<(Both, Both), &'static SendOnly>: false, false;
    InsertError<(Both, Neither), ()>: false, false;
    TryReserveError: true, true;
    Growth: true, true;
    Stats: true, true;
    KeyedState: true, true;
    KeyedHasher: true, true;
    MonotoneState: true, true;
    NeitherState: false, false;
    MonotoneHasher<KeyedHasher>: true, true;
}

/// What is above is done when this compiles; here it is used.
#[test]
fn a_shared_map_is_shared() {
    fn sendable(_: impl Send + 'static) {}

    let map: NullsHashMap<u32, Cell<u32>> = NullsHashMap::new();
    map.pin().insert(1, Cell::new(1));
    std::thread::scope(|s| {
        s.spawn(move || {
            let m = map.pin();
            m.get(&1).expect("inserted").set(2);
        });
    });
    sendable(NullsHashMap::<u32, Cell<u32>>::new());
    // What is not `Send` can be used all the same, on its thread.
    let map: NullsHashMap<u32, Rc<u32>> = NullsHashMap::new();
    map.pin().insert(1, Rc::new(1));
    assert_eq!(map.pin().get(&1).map(|one| **one), Some(1));
}

/// Threads share the map and not the hasher's hashes: each makes its own, and one made here is good there.
#[test]
fn a_shared_inline_map_is_shared() {
    fn sendable(_: impl Send + 'static) {}

    let map: InlineHashMap<u32, [u64; 2]> = InlineHashMap::new();
    let hash = map.hash_key(&1);
    std::thread::scope(|s| {
        s.spawn(|| map.pin().insert_hashed(hash, 1, [1, 2]));
    });
    assert_eq!(map.pin().get_hashed(hash, &1), Some([1, 2]));
    sendable(map);
}

/// An iterator of a long-lived map, hasher and view serves where a shorter life will do.
#[test]
fn inline_views_and_iterators_may_live_shorter() {
    fn iter<'v>(iter: inline::Iter<'static, u32, u32>, _: &'v ()) -> inline::Iter<'v, u32, u32> {
        iter
    }
    fn view<'m>(
        view: InlineHashMapRef<'static, u32, u32>,
        _: &'m (),
    ) -> InlineHashMapRef<'m, u32, u32> {
        view
    }
    fn compute<'v>(compute: InlineCompute<&'static u32>, _: &'v ()) -> InlineCompute<&'v u32> {
        compute
    }
    let (_, _, _) = (iter, view, compute);
}

/// A map is `RefUnwindSafe`, since a panic leaves it as it was: no `AssertUnwindSafe` is needed here.
#[test]
fn a_map_can_be_used_after_a_panic_was_caught() {
    let map: NullsHashMap<u32, u32> = NullsHashMap::new();
    let result = std::panic::catch_unwind(|| {
        map.pin().get_or_insert_with(1, || panic!("no value"));
    });
    assert!(result.is_err());
    assert_eq!(map.pin().insert(1, 1), None);
    let map: InlineHashMap<u32, u32> = InlineHashMap::new();
    let result = std::panic::catch_unwind(|| {
        map.pin().get_or_insert_with(1, || panic!("no value"));
    });
    assert!(result.is_err());
    assert_eq!(map.pin().insert(1, 1), None);
}
