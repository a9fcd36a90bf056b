//! `InlineHashMap` against std's map, for every shape of entry.

#![cfg(all(feature = "std", not(nulls_loom)))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test is a program of std"
)]

mod common;

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;

use common::TestState;
use nulls::{Growth, InlineCompute, InlineHashMap, InsertError, Operation, Plain};
use proptest::prelude::*;

fn agrees<K, V>(
    operations: &[(u8, u8, u8)],
    hasher: TestState,
    growth: Growth,
    key: impl Fn(u8) -> K,
    value: impl Fn(u8) -> V,
) where
    K: Plain + Hash + Eq + Debug + Send,
    V: Plain + PartialEq + Debug + Send,
{
    let map: InlineHashMap<K, V, TestState> = InlineHashMap::builder()
        .growth(growth)
        .hasher(hasher)
        .build();
    let mut model = HashMap::new();
    let m = map.pin();
    for &(what, k, v) in operations {
        let (k, v) = (key(k), value(v));
        match what % 9 {
            0 | 1 => assert_eq!(m.insert(k, v), model.insert(k, v)),
            2 | 3 => assert_eq!(m.remove(&k), model.remove(&k)),
            4 => assert_eq!(
                m.update(k, |_| v),
                model.get_mut(&k).map(|old| {
                    *old = v;
                    v
                })
            ),
            5 => {
                let done = m.try_insert(k, v);
                if let Some(&old) = model.get(&k) {
                    assert_eq!(done, Err(InsertError::Occupied((k, v), old)));
                } else {
                    assert_eq!(done, Ok(()));
                    model.insert(k, v);
                }
            }
            6 => assert_eq!(
                m.replace(k, v).ok(),
                model.get_mut(&k).map(|old| std::mem::replace(old, v))
            ),
            7 => {
                let done = m.compute(k, |found| match found {
                    Some(_) => Operation::Remove,
                    None => Operation::Insert(v),
                });
                if let Some(old) = model.remove(&k) {
                    assert_eq!(done, InlineCompute::Removed(old));
                } else {
                    model.insert(k, v);
                    assert_eq!(done, InlineCompute::Inserted(v));
                }
            }
            _ => assert_eq!(
                m.get_key_value(&k),
                model.get_key_value(&k).map(|(&k, &v)| (k, v))
            ),
        }
        assert_eq!(m.get(&k), model.get(&k).copied());
        assert_eq!(map.len(), model.len());
    }
    let met: HashMap<K, V> = m.iter().collect();
    assert_eq!(met, model);
    assert_eq!(m.iter().count(), model.len());
    assert_eq!(map.stats().entries, model.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 60 }))]

    #[test]
    fn every_shape_agrees_with_std(
        operations in proptest::collection::vec(any::<(u8, u8, u8)>(), 1..600),
        hasher in prop_oneof![Just(TestState::Sip), Just(TestState::Constant), Just(TestState::Identity)],
        growth in prop_oneof![Just(Growth::Auto), Just(Growth::Fixed)],
    ) {
        let o = &operations;
        agrees(o, hasher, growth, u32::from, u32::from);
        agrees(o, hasher, growth, u64::from, u64::from);
        agrees(o, hasher, growth, |k| k, |_| ());
        agrees(o, hasher, growth, |k| [k; 40], u64::from);
        agrees(o, hasher, growth, |k| [u64::from(k); 2], u64::from);
        agrees(o, hasher, growth, u64::from, |v| [u64::from(v); 2]);
        agrees(o, hasher, growth, |k| [k; 3], |v| [v; 5]);
        agrees(o, hasher, growth, |k| [k; 3], |v| [v; 7]);
        agrees(o, hasher, growth, u64::from, |v| [u64::from(v); 5]);
    }
}
