//! The one read-modify-write that all others are made of.

use core::hash::{BuildHasher, Hash};

use super::NullsHashMap;
use crate::engine::{Node, TryInsertError};
use crate::reclaim::Guard;

/// What a closure of [`NullsHashMap::modify`] wants done.
pub(super) enum Change<V> {
    Keep,
    Put(V),
    Remove,
}

/// What was done.
pub(super) enum Changed<'g, K, V> {
    Kept,
    Inserted(&'g (K, V)),
    Replaced { old: &'g (K, V), new: &'g (K, V) },
    Removed(&'g (K, V)),
}

impl<K: Hash + Eq, V, S: BuildHasher> NullsHashMap<K, V, S> {
    /// Changes the entry under `key`, or its absence, as `f` says.
    ///
    /// `f` is given what a look-up found, with no lock held. Then the bucket is locked, and the
    /// change is made if that very entry is still there (or the key still absent); otherwise
    /// all begins again, so `f` may run more than once. If `f` panics nothing has changed.
    ///
    /// When there is no memory, key and value come back.
    pub(super) fn modify<'g>(
        &'g self,
        guard: &'g Guard<'_>,
        mut key: K,
        mut f: impl FnMut(Option<&'g V>) -> Change<V>,
    ) -> Result<Changed<'g, K, V>, (K, V)> {
        let engine = &self.table.engine;
        let parts = self.parts(&key);
        loop {
            let found = engine.find(guard, parts, |(k, _)| *k == key);
            let refused = match (found, f(found.map(|node| &node.value().1))) {
                (None, Change::Keep | Change::Remove) | (Some(_), Change::Keep) => {
                    return Ok(Changed::Kept);
                }
                (Some(node), Change::Remove) => {
                    if engine.remove_exact(guard, parts, node) {
                        return Ok(Changed::Removed(node.value()));
                    }
                    continue;
                }
                (Some(old), Change::Put(value)) => {
                    let node = Node::new(parts, (key, value))?;
                    match engine.replace_exact(guard, parts, old, node) {
                        Ok(new) => {
                            return Ok(Changed::Replaced {
                                old: old.value(),
                                new,
                            });
                        }
                        Err(node) => node,
                    }
                }
                (None, Change::Put(value)) => {
                    let node = Node::new(parts, (key, value))?;
                    match engine.try_insert(guard, parts, node, same_key) {
                        Ok(new) => return Ok(Changed::Inserted(new)),
                        Err(TryInsertError::Occupied(_, node)) => node,
                        Err(TryInsertError::NoMemory(node)) => return Err(node.into_value()),
                    }
                }
            };
            // Another writer came between. The value is dropped here, with no lock held.
            (key, _) = refused.into_value();
        }
    }
}

/// The equality test of a map: runs under the bucket's lock where absence has to be proved.
#[inline]
pub(super) fn same_key<K: Eq, V>(new: &(K, V), found: &(K, V)) -> bool {
    new.0 == found.0
}
