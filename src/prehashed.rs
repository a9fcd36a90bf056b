//! A hash in hand.

use core::fmt;
use core::hash::Hasher;
use core::marker::PhantomData;
use core::ops::Add;

use crate::hash::{Monotone, MonotoneKey};

/// The hash of a key under a map's hasher, made by
/// [`hash_key`](crate::NullsHashMap::hash_key): for a key that is looked up in several maps of one
/// hasher, or looked up and then inserted.
///
/// It is typed by the hasher. With the hash of another map, whose hasher has another secret, an entry
/// is not found, or inserted where nobody finds it; nothing worse.
///
/// Where the hasher is [`Monotone`], ports can be added to the hash of a key whose port is 0:
///
/// ```
/// use nulls::{NullsHashMap, hash::MonotoneState};
///
/// // Who uses which local port towards one peer: one hash, and an addition a candidate.
/// let users: NullsHashMap<([u8; 4], u16), &str, MonotoneState> = NullsHashMap::default();
/// let u = users.pin();
/// u.insert(([192, 0, 2, 1], 32_768), "ann");
///
/// let base = users.hash_base(&([192, 0, 2, 1], 0));
/// let free = (32_768..=60_999).find(|&port| {
///     !u.contains_hashed(base + port, &([192, 0, 2, 1], port))
/// });
/// assert_eq!(free, Some(32_769));
/// ```
pub struct Prehashed<S> {
    pub(crate) hash: u64,
    hasher: PhantomData<fn(S)>,
}

impl<S> Prehashed<S> {
    #[inline]
    pub(crate) fn new(hash: u64) -> Self {
        Self {
            hash,
            hasher: PhantomData,
        }
    }

    /// That of a key as if its port were 0.
    #[inline]
    pub(crate) fn of_base<Q: MonotoneKey + ?Sized>(hasher: &S, key: &Q) -> Self
    where
        S: Monotone,
    {
        let mut state = hasher.build_hasher();
        key.hash_base(&mut state);
        state.write_u16(0);
        Self::new(state.finish())
    }
}

/// The hash of the key with this port, if this is that of the key with port 0.
impl<S: Monotone> Add<u16> for Prehashed<S> {
    type Output = Self;

    #[inline]
    fn add(self, port: u16) -> Self {
        Self::new(self.hash.wrapping_add(u64::from(port)))
    }
}

impl<S> Clone for Prehashed<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Prehashed<S> {}

impl<S> PartialEq for Prehashed<S> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl<S> Eq for Prehashed<S> {}

impl<S> fmt::Debug for Prehashed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prehashed({:#018x})", self.hash)
    }
}
