//! Keyed hashing, and hashes that a port can be added to.
//!
//! [`KeyedState`] is SipHash-1-3 under a 128-bit key. [`MonotoneState`] turns any [`BuildHasher`]
//! into one with `hash(base, port) == hash(base, 0).wrapping_add(port)`.
//!
//! # What the monotone form is for
//!
//! Our own port allocator holds a base (both addresses and the remote port) and tries one local
//! port after another. Under a plain hash each candidate costs a keyed hash and a random line of
//! the table; here a connect costs one keyed hash, and a candidate one addition. A table takes the
//! bucket from the **low** bits, `(hash >> shift) & mask`, so consecutive ports have consecutive
//! buckets, or with a `shift` share one. Neighbours agree in their high bits; tags tell them apart
//! because a tag comes from a mix of the whole hash.
//!
//! # When not to take it
//!
//! Where the **peer** chooses the local port (NAT, a listener on any port), take [`KeyedState`].
//! One bucket position learnt, by timing say, reveals those of all 65,536 keys of that base; and
//! whatever the secret, ports equal modulo `buckets << shift` meet in one bucket.
//!
//! # One secret a table
//!
//! What leaks about one table holds for every table under the same key. Give each table its own
//! `new()`; a clone keeps the key.

use alloc::vec::Vec;
use core::fmt;
use core::hash::{BuildHasher, Hash, Hasher};

use siphasher::sip::SipHasher13;

/// Gives a hasher every integer method of [`Hasher`] but `write_u16`. None is left to its default,
/// which would turn `write_u32` into `write` and `write_i16` into `write_u16`. (`write_str` and
/// `write_length_prefix` are unstable; their defaults call methods that are given.)
macro_rules! integers_but_u16 {
    ($each:ident) => {
        $each! {
            write_u8(u8) write_u32(u32) write_u64(u64) write_u128(u128) write_usize(usize)
            write_i8(i8) write_i16(i16) write_i32(i32) write_i64(i64) write_i128(i128)
            write_isize(isize)
        }
    };
}

macro_rules! forward {
    ($($write:ident($value:ty))*) => {$(
        #[inline]
        fn $write(&mut self, value: $value) {
            self.inner.$write(value);
        }
    )*};
}

/// Builds SipHash-1-3 hashers under a secret key, [one a table](self#one-secret-a-table).
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "std")] {
/// use core::hash::BuildHasher;
/// use nulls::hash::KeyedState;
///
/// let (state, other) = (KeyedState::new(), KeyedState::new());
/// assert_eq!(state.hash_one("key"), state.hash_one("key"));
/// assert_ne!(state.hash_one("key"), other.hash_one("key"));
/// # }
/// ```
#[derive(Clone)]
pub struct KeyedState {
    k0: u64,
    k1: u64,
}

impl KeyedState {
    /// Creates a state under a new key that comes from the operating system.
    ///
    /// By way of std: the two words of the key are the hashes of two constants under a new
    /// [`RandomState`](std::hash::RandomState), that is, outputs of a pseudo-random function whose
    /// own key std draws from the system once a thread and changes for each `RandomState`.
    ///
    /// # Examples
    ///
    /// ```
    /// let state = nulls::hash::KeyedState::new();
    /// assert_eq!(format!("{state:?}"), "KeyedState { .. }"); // the key is not printed
    /// ```
    #[cfg(feature = "std")]
    pub fn new() -> Self {
        let system = std::hash::RandomState::new();
        Self::with_keys(system.hash_one(0_u64), system.hash_one(1_u64))
    }

    /// Creates a state under a given key: its 16 bytes as two little-endian words.
    ///
    /// For a random source of your own, and for tests: a key that can be guessed protects nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # use {core::hash::BuildHasher, nulls::hash::KeyedState};
    /// const FIXED: KeyedState = KeyedState::with_keys(1, 2);
    /// assert_eq!(FIXED.hash_one(7), KeyedState::with_keys(1, 2).hash_one(7));
    /// ```
    pub const fn with_keys(k0: u64, k1: u64) -> Self {
        Self { k0, k1 }
    }
}

#[cfg(feature = "std")]
impl Default for KeyedState {
    fn default() -> Self {
        Self::new()
    }
}

// Not derived, here and for the hasher: a key in a log is no secret any more.
impl fmt::Debug for KeyedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedState").finish_non_exhaustive()
    }
}

impl BuildHasher for KeyedState {
    type Hasher = KeyedHasher;

    #[inline]
    fn build_hasher(&self) -> KeyedHasher {
        KeyedHasher {
            inner: SipHasher13::new_with_keys(self.k0, self.k1),
        }
    }
}

/// The SipHash-1-3 hasher that [`KeyedState`] builds.
///
/// # Examples
///
/// ```
/// # use {core::hash::{BuildHasher, Hasher}, nulls::hash::{KeyedHasher, KeyedState}};
/// let mut hasher: KeyedHasher = KeyedState::with_keys(1, 2).build_hasher();
/// hasher.write_u32(7);
/// assert_eq!(hasher.finish(), KeyedState::with_keys(1, 2).hash_one(7_u32));
/// ```
#[derive(Clone)]
pub struct KeyedHasher {
    inner: SipHasher13,
}

impl fmt::Debug for KeyedHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedHasher").finish_non_exhaustive()
    }
}

impl Hasher for KeyedHasher {
    integers_but_u16!(forward);
    forward! { write(&[u8]) write_u16(u16) }

    #[inline]
    fn finish(&self) -> u64 {
        self.inner.finish()
    }
}

/// Builds hashers that add the last `write_u16` to the hash of everything else.
///
/// The [module](self) says where to use it and where not, [`MonotoneHasher`] what is hashed.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "std")] {
/// use core::hash::BuildHasher;
/// use core::net::Ipv4Addr;
///
/// let state = nulls::hash::MonotoneState::new();
/// let hash = |port: u16| state.hash_one((Ipv4Addr::LOCALHOST, port));
/// assert_eq!(hash(443), hash(0).wrapping_add(443));
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct MonotoneState<S = KeyedState> {
    inner: S,
}

#[cfg(feature = "std")]
impl MonotoneState {
    /// Creates a state over a [new `KeyedState`](KeyedState::new).
    ///
    /// # Examples
    ///
    /// ```
    /// # use {core::hash::BuildHasher, nulls::hash::MonotoneState};
    /// assert_ne!(MonotoneState::new().hash_one(443_u16), MonotoneState::new().hash_one(443_u16));
    /// ```
    pub fn new() -> Self {
        Self::with_hasher(KeyedState::new())
    }
}

impl<S> MonotoneState<S> {
    /// Creates a state over `inner`, which hashes everything but the port.
    ///
    /// # Examples
    ///
    /// ```
    /// # use {core::hash::BuildHasher, nulls::hash::{KeyedState, MonotoneState}};
    /// let plain = KeyedState::with_keys(1, 2);
    /// let monotone = MonotoneState::with_hasher(plain.clone());
    /// assert_eq!(monotone.hash_one((7_u32, 443_u16)), plain.hash_one(7_u32).wrapping_add(443));
    /// ```
    pub const fn with_hasher(inner: S) -> Self {
        Self { inner }
    }
}

impl<S: BuildHasher> BuildHasher for MonotoneState<S> {
    type Hasher = MonotoneHasher<S::Hasher>;

    #[inline]
    fn build_hasher(&self) -> Self::Hasher {
        MonotoneHasher {
            inner: self.inner.build_hasher(),
            held: None,
        }
    }
}

/// The hasher that [`MonotoneState`] builds: an inner hasher and the last `write_u16`.
///
/// * Every call but `write_u16` goes to the same method of the inner hasher at once.
/// * A `write_u16` is held back until the next one comes: then it is fed to the inner hasher, and
///   the new one is held in its place.
/// * `finish` adds the one held, if any, to the inner `finish` (wrapping). It changes nothing: it
///   may be called again, and more writes may follow.
///
/// So the inner hasher sees a `write_u16` *after* the calls between it and the next `write_u16`,
/// and never sees the last one, **wherever that stood**: a port in the middle of a key is added
/// too. `(7_u8, 443_u16)` and `(443_u16, 7_u8)` therefore have the same hash: a collision between
/// keys of different shape, which costs a comparison and is no error.
///
/// # Examples
///
/// ```
/// # use {core::hash::{BuildHasher, Hasher}, nulls::hash::{KeyedState, MonotoneState}};
/// let mut hasher = MonotoneState::with_hasher(KeyedState::with_keys(1, 2)).build_hasher();
/// hasher.write_u16(80);
/// let one = hasher.finish();
/// hasher.write_u16(443); // 80 is no longer the last: it is hashed now
/// assert_ne!(hasher.finish(), one.wrapping_add(443 - 80));
/// ```
#[derive(Clone, Debug)]
pub struct MonotoneHasher<H> {
    inner: H,
    held: Option<u16>,
}

impl<H: Hasher> Hasher for MonotoneHasher<H> {
    integers_but_u16!(forward);
    forward! { write(&[u8]) }

    #[inline]
    fn write_u16(&mut self, value: u16) {
        if let Some(earlier) = self.held.replace(value) {
            self.inner.write_u16(earlier);
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.inner
            .finish()
            .wrapping_add(u64::from(self.held.unwrap_or(0)))
    }
}

/// Marks hashers under which the hash of a [`MonotoneKey`] is that with port 0 plus the port.
///
/// Declared wrongly it gives wrong answers, never undefined behaviour: no unsafe code relies on it.
///
/// # Examples
///
/// ```
/// # use {core::hash::Hasher, nulls::hash::{Monotone, MonotoneKey}};
/// fn hash_with_port<S: Monotone>(state: &S, key: &impl MonotoneKey, port: u16) -> u64 {
///     let mut hasher = state.build_hasher();
///     key.hash_base(&mut hasher);
///     hasher.write_u16(0); // or a `u16` at the end of the base would be the last one
///     hasher.finish().wrapping_add(u64::from(port))
/// }
/// ```
pub trait Monotone: BuildHasher {}

impl<S: BuildHasher> Monotone for MonotoneState<S> {}

/// A key whose hash ends in a port.
///
/// **The law:** `hash` makes the calls of [`hash_base`](Self::hash_base), then `write_u16(port)`,
/// and no others; and `hash_base` does not depend on the port. A key that breaks it is not found
/// when a port is added to a hash. Borrowed forms used in look-ups must make the same calls.
///
/// A derived `Hash` whose last field is a `u16` obeys, and so do tuples `(.., u16)`; up to four
/// fields they are `MonotoneKey`s already. Not so:
///
/// * `[u16; N]`, `[u8; 2]`, byte slices, `i16`: they never call `write_u16`;
/// * a `SocketAddr` at the end: IPv6 ones write flow label and scope after the port;
/// * an `Option<u16>` at the end: after `None` the last `u16` is an earlier one.
///
/// # Examples
///
/// ```
/// use core::hash::{Hash, Hasher};
/// use nulls::hash::{MonotoneKey, check_monotone_key};
///
/// #[derive(Hash, PartialEq, Eq)]
/// struct Flow {
///     remote: ([u8; 4], u16),
///     port: u16, // last: the derived `Hash` ends in it
/// }
///
/// impl MonotoneKey for Flow {
///     fn hash_base<H: Hasher>(&self, state: &mut H) {
///         self.remote.hash(state);
///     }
///     fn port(&self) -> u16 {
///         self.port
///     }
/// }
/// check_monotone_key(&Flow { remote: ([127, 0, 0, 1], 443), port: 32_768 });
/// ```
pub trait MonotoneKey: Hash {
    /// Feeds everything but the port to `state`, in the order of `hash`.
    fn hash_base<H: Hasher>(&self, state: &mut H);

    /// Returns the port.
    fn port(&self) -> u16;
}

macro_rules! tuple_keys {
    ($(($($field:ident $index:tt),*; $port:tt))*) => {$(
        impl<$($field: Hash),*> MonotoneKey for ($($field,)* u16) {
            fn hash_base<H: Hasher>(&self, state: &mut H) {
                $(self.$index.hash(state);)*
            }

            fn port(&self) -> u16 {
                self.$port
            }
        }
    )*};
}

tuple_keys! { (A 0; 1) (A 0, B 1; 2) (A 0, B 1, C 2; 3) }

/// Panics if the `Hash` of `key` breaks [the law of `MonotoneKey`](MonotoneKey); for your tests.
///
/// It compares the calls that `hash` and `hash_base` make, whatever the hasher. That `hash_base`
/// ignores the port only a second key can show, as in the example.
///
/// # Panics
///
/// If `hash` makes other calls than `hash_base` followed by `write_u16(port)`.
///
/// # Examples
///
/// ```
/// # use {core::hash::BuildHasher, nulls::hash::{KeyedState, MonotoneState, check_monotone_key}};
/// let (key, next) = ((7_u32, 443_u16), (7_u32, 444_u16));
/// check_monotone_key(&key);
///
/// let state = MonotoneState::with_hasher(KeyedState::with_keys(1, 2));
/// assert_eq!(state.hash_one(next), state.hash_one(key).wrapping_add(1));
/// ```
#[track_caller]
pub fn check_monotone_key<K: MonotoneKey + ?Sized>(key: &K) {
    const LAW: &str = "the law of MonotoneKey (`hash` == `hash_base`, then `write_u16(port)`)";
    let (mut hash, mut law) = (Recorder::default(), Recorder::default());
    key.hash(&mut hash);
    key.hash_base(&mut law);
    law.write_u16(key.port());
    let (hash, law) = (hash.calls, law.calls);

    assert!(
        hash.iter().any(|(method, _)| *method == "write_u16"),
        "{LAW} is broken: `hash` never calls `write_u16`, as of an array or bytes, but {hash:?}"
    );
    assert!(
        hash == law,
        "{LAW} is broken: `hash` calls {hash:?}, the law says {law:?}"
    );
}

/// Keeps the calls made to it: method and bytes. Bytes alone would not do, as a hasher may treat
/// `write_u32` otherwise than `write` of the same four bytes.
#[derive(Default)]
struct Recorder {
    calls: Vec<(&'static str, Vec<u8>)>,
}

macro_rules! record {
    ($($write:ident($int:ty))*) => {$(
        fn $write(&mut self, value: $int) {
            self.calls.push((stringify!($write), value.to_ne_bytes().to_vec()));
        }
    )*};
}

impl Hasher for Recorder {
    integers_but_u16!(record);
    record! { write_u16(u16) }

    fn write(&mut self, bytes: &[u8]) {
        self.calls.push(("write", bytes.to_vec()));
    }

    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use alloc::vec;
    use core::net::{IpAddr, Ipv4Addr, SocketAddr};
    use std::format;
    use std::hash::DefaultHasher;

    use super::*;

    const PLAIN: KeyedState = KeyedState::with_keys(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210);
    const MONOTONE: MonotoneState = MonotoneState::with_hasher(PLAIN);

    /// A 4-tuple, whose base itself ends in a `u16`.
    #[derive(Hash)]
    struct Flow {
        local: Ipv4Addr,
        remote: Ipv4Addr,
        remote_port: u16,
        local_port: u16,
    }

    impl MonotoneKey for Flow {
        fn hash_base<H: Hasher>(&self, state: &mut H) {
            self.local.hash(state);
            self.remote.hash(state);
            self.remote_port.hash(state);
        }

        fn port(&self) -> u16 {
            self.local_port
        }
    }

    fn flow(local_port: u16) -> Flow {
        Flow {
            local: Ipv4Addr::new(192, 0, 2, 1),
            remote: Ipv4Addr::new(198, 51, 100, 7),
            remote_port: 443,
            local_port,
        }
    }

    type Write = fn(&mut dyn Hasher);

    /// A key with port 443 whose `hash` and `hash_base` make the calls that a test wants.
    struct Key {
        hash: Write,
        base: Write,
    }

    impl Hash for Key {
        fn hash<H: Hasher>(&self, state: &mut H) {
            (self.hash)(state);
        }
    }

    impl MonotoneKey for Key {
        fn hash_base<H: Hasher>(&self, state: &mut H) {
            (self.base)(state);
        }

        fn port(&self) -> u16 {
            443
        }
    }

    /// What the inner hasher of a `MonotoneHasher` is given, and what is held back.
    fn inner_calls(key: &impl Hash) -> (Vec<(&'static str, Vec<u8>)>, Option<u16>) {
        let mut hasher = MonotoneHasher {
            inner: Recorder::default(),
            held: None,
        };
        key.hash(&mut hasher);
        (hasher.inner.calls, hasher.held)
    }

    fn direct_calls(key: &impl Hash) -> Vec<(&'static str, Vec<u8>)> {
        let mut recorder = Recorder::default();
        key.hash(&mut recorder);
        recorder.calls
    }

    // ---- KeyedState ----

    #[test]
    fn zero_key_equals_std_default_hasher() {
        fn both(write: impl Fn(&mut dyn Hasher)) {
            let mut std = DefaultHasher::new();
            let mut ours = KeyedState::with_keys(0, 0).build_hasher();
            for _ in 0..3 {
                write(&mut std);
                write(&mut ours);
                assert_eq!(ours.finish(), std.finish());
            }
        }
        let bytes: Vec<u8> = (0..=255).collect();
        for length in 0..=bytes.len() {
            both(|hasher| hasher.write(&bytes[..length]));
        }
        both(|hasher| {
            hasher.write_u8(0x81);
            hasher.write_u16(0x8182);
            hasher.write_u32(0x8182_8384);
            hasher.write_u64(0x8182_8384_8586_8788);
            hasher.write_u128(u128::MAX / 3);
            hasher.write_usize(usize::MAX / 3);
            hasher.write_i8(-2);
            hasher.write_i16(-3);
            hasher.write_i32(-5);
            hasher.write_i64(-7);
            hasher.write_i128(-11);
            hasher.write_isize(-13);
        });
        both(|mut hasher| ("text", (3_u8, [1_u16, 2]), Some('c'), vec![(); 3]).hash(&mut hasher));
    }

    #[test]
    fn reference_vectors_of_siphash_1_3() {
        // Key 00 01 .. 0f, messages of 0, 1, 2 .. bytes 00 01 ..: they fix the order of the words,
        // which the zero key cannot.
        let state = KeyedState::with_keys(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let expected: [[u8; 8]; 4] = [
            [0xdc, 0xc4, 0x0f, 0x05, 0x58, 0x01, 0xac, 0xab],
            [0x93, 0xca, 0x57, 0x7d, 0xf3, 0x9b, 0xf4, 0xc9],
            [0x4d, 0xd4, 0xc7, 0x4d, 0x02, 0x9b, 0xcb, 0x82],
            [0xfb, 0xf7, 0xdd, 0xe7, 0xb8, 0x0a, 0xf8, 0x8b],
        ];
        for (length, expected) in expected.into_iter().enumerate() {
            let mut hasher = state.build_hasher();
            hasher.write(&[0, 1, 2][..length]);
            assert_eq!(hasher.finish(), u64::from_le_bytes(expected));
        }
    }

    #[test]
    fn equal_keys_hash_alike_and_others_do_not() {
        let hash = |k0, k1| KeyedState::with_keys(k0, k1).hash_one("key");
        assert_eq!(hash(1, 2), hash(1, 2));
        assert_ne!(hash(1, 2), hash(2, 1));
        assert_ne!(hash(1, 2), hash(1, 3));
        assert_eq!(PLAIN.clone().hash_one("key"), PLAIN.hash_one("key"));
    }

    #[cfg(feature = "std")]
    #[test]
    fn each_new_state_has_its_own_key() {
        let states: [KeyedState; 4] = [
            KeyedState::new(),
            KeyedState::new(),
            KeyedState::default(),
            KeyedState::default(),
        ];
        for (i, one) in states.iter().enumerate() {
            assert_ne!(one.k0, one.k1);
            for other in &states[i + 1..] {
                assert!(one.k0 != other.k0 && one.k1 != other.k1);
                assert_ne!(one.hash_one("key"), other.hash_one("key"));
            }
        }
        let state = MonotoneState::new();
        assert_eq!(state.clone().hash_one(7), state.hash_one(7));
        assert_ne!(
            MonotoneState::<KeyedState>::default().hash_one(7),
            state.hash_one(7)
        );
    }

    #[test]
    fn debug_shows_no_key() {
        assert_eq!(format!("{PLAIN:?}"), "KeyedState { .. }");
        assert_eq!(format!("{:?}", PLAIN.build_hasher()), "KeyedHasher { .. }");
        assert_eq!(
            format!("{MONOTONE:?}"),
            "MonotoneState { inner: KeyedState { .. } }"
        );
        assert_eq!(
            format!("{:?}", MONOTONE.build_hasher()),
            "MonotoneHasher { inner: KeyedHasher { .. }, held: None }"
        );
        for shown in [
            format!("{PLAIN:#?}"),
            format!("{:#?}", MONOTONE.build_hasher()),
        ] {
            for key in [PLAIN.k0, PLAIN.k1] {
                assert!(!shown.contains(&format!("{key}")) && !shown.contains(&format!("{key:x}")));
            }
        }
    }

    // ---- MonotoneState ----

    /// The tests below compare records, so a method left to its default would escape them.
    #[test]
    fn every_stable_method_is_recorded_as_itself() {
        let calls = direct_calls(&(
            (1_u8, 1_u16, 1_u32, 1_u64, 1_u128, 1_usize),
            (1_i8, 1_i16, 1_i32, 1_i64, 1_i128, 1_isize),
        ));
        let methods: Vec<_> = calls.iter().map(|(method, _)| *method).collect();
        assert_eq!(
            methods.join(" "),
            "write_u8 write_u16 write_u32 write_u64 write_u128 write_usize \
             write_i8 write_i16 write_i32 write_i64 write_i128 write_isize"
        );
    }

    #[test]
    fn hash_with_port_is_hash_with_zero_plus_port() {
        fn all_ports<K: Hash>(key: impl Fn(u16) -> K) {
            let base = MONOTONE.hash_one(key(0));
            for port in 0..=u16::MAX {
                assert_eq!(
                    MONOTONE.hash_one(key(port)),
                    base.wrapping_add(u64::from(port))
                );
            }
        }
        all_ports(flow);
        all_ports(|port| port);
        all_ports(|port| (7_u32, port));
        all_ports(|port| ("text", [1_u16, 2, 3], 443_u16, port));
        all_ports(|port| (Some(IpAddr::from([1; 16])), Some(port)));
        // In the middle of the key too: the last `write_u16` is what counts.
        all_ports(|port| (1_u16, port, 3_u32, "text"));
    }

    #[test]
    fn base_with_port_zero_is_the_hash_with_port_zero() {
        let mut hasher = MONOTONE.build_hasher();
        flow(1).hash_base(&mut hasher);
        let unfinished = hasher.finish();
        hasher.write_u16(0);
        assert_eq!(hasher.finish(), MONOTONE.hash_one(flow(0)));
        // The base ends in the remote port, which without the zero would pass for the last one.
        assert_ne!(hasher.finish(), unfinished);
    }

    #[test]
    fn addition_wraps() {
        /// An inner hasher whose hash is the largest there is.
        struct Largest;
        impl Hasher for Largest {
            fn write(&mut self, _: &[u8]) {}
            fn finish(&self) -> u64 {
                u64::MAX
            }
        }
        let mut hasher = MonotoneHasher {
            inner: Largest,
            held: None,
        };
        hasher.write_u16(443);
        assert_eq!(hasher.finish(), 442);
    }

    #[test]
    fn finish_consumes_nothing() {
        let mut hasher = MONOTONE.build_hasher();
        hasher.write_u32(7);
        hasher.write_u16(80);
        assert_eq!(hasher.finish(), hasher.finish());
        hasher.write_u16(443);
        assert_eq!(hasher.finish(), MONOTONE.hash_one((7_u32, 80_u16, 443_u16)));
    }

    #[test]
    fn inner_hasher_sees_all_but_the_last_u16() {
        fn check(key: &impl Hash, port: u16) {
            let (calls, held) = inner_calls(key);
            let mut direct = direct_calls(key);
            assert_eq!(
                direct.pop(),
                Some(("write_u16", port.to_ne_bytes().to_vec()))
            );
            assert_eq!((calls, held), (direct, Some(port)));
        }
        check(&flow(32_768), 32_768);
        check(
            &(
                1_u8,
                2_u32,
                3_u64,
                4_u128,
                5_usize,
                "text",
                [6_u16, 7],
                8_u16,
            ),
            8,
        );
        check(
            &(
                -1_i8, -2_i16, -3_i32, -4_i64, -5_i128, -6_isize, b"bytes", 9_u16,
            ),
            9,
        );
        check(
            &(
                Some(true),
                'c',
                [flow(1), flow(2)].len(),
                ((), vec![1_u8]),
                10_u16,
            ),
            10,
        );
    }

    #[test]
    fn key_without_u16_is_hashed_as_without_the_adapter() {
        let key = (1_u8, -2_i16, 3_u32, [4_u16, 5], "text");
        assert_eq!(inner_calls(&key), (direct_calls(&key), None));
        assert_eq!(MONOTONE.hash_one(key), PLAIN.hash_one(key));
    }

    #[test]
    fn held_u16_is_fed_in_when_the_next_one_comes() {
        let (calls, held) = inner_calls(&(1_u16, 2_u8, 3_u16, 4_u32));
        assert_eq!(
            (calls, held),
            (direct_calls(&(2_u8, 1_u16, 4_u32)), Some(3))
        );
        // The documented collision of two shapes.
        assert_eq!(
            MONOTONE.hash_one((7_u8, 443_u16)),
            MONOTONE.hash_one((443_u16, 7_u8))
        );
    }

    // ---- The check ----

    #[test]
    fn check_accepts_lawful_keys() {
        check_monotone_key(&flow(0));
        check_monotone_key(&flow(u16::MAX));
        check_monotone_key(&(1_u16, 443_u16));
        check_monotone_key(&("text", Some(7_u16), 443_u16));
        check_monotone_key(&([1_u16, 2], SocketAddr::from(([1; 16], 80)), -1_i16, 443_u16));
    }

    impl MonotoneKey for [u16; 2] {
        fn hash_base<H: Hasher>(&self, state: &mut H) {
            self[0].hash(state);
        }

        fn port(&self) -> u16 {
            self[1]
        }
    }

    #[test]
    #[should_panic(expected = "`hash` never calls `write_u16`")]
    fn check_rejects_an_array() {
        check_monotone_key(&[80_u16, 443]);
    }

    #[test]
    #[should_panic(expected = "`hash` never calls `write_u16`")]
    fn check_rejects_a_signed_port() {
        check_monotone_key(&Key {
            hash: |h| h.write_i16(443),
            base: |_| (),
        });
    }

    #[test]
    #[should_panic(expected = "the law of MonotoneKey")]
    fn check_rejects_a_port_that_is_not_last() {
        check_monotone_key(&Key {
            hash: |h| (443_u16, 7_u8).hash(&mut { h }),
            base: |h| h.write_u8(7),
        });
    }

    #[test]
    #[should_panic(expected = "the law of MonotoneKey")]
    fn check_rejects_another_port() {
        check_monotone_key(&Key {
            hash: |h| h.write_u16(444),
            base: |_| (),
        });
    }

    #[test]
    #[should_panic(expected = "the law of MonotoneKey")]
    fn check_rejects_a_base_that_leaves_something_out() {
        check_monotone_key(&Key {
            hash: |h| (7_u8, 443_u16).hash(&mut { h }),
            base: |_| (),
        });
    }

    #[test]
    #[should_panic(expected = "the law of MonotoneKey")]
    fn check_rejects_the_same_bytes_by_another_method() {
        check_monotone_key(&Key {
            hash: |h| (7_u8, 443_u16).hash(&mut { h }),
            base: |h| h.write(&[7]),
        });
    }
}
