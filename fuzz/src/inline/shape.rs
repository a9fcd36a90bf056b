//! Entries of several sizes, and which value is which.

use core::fmt::Debug;
use core::hash::Hash;
use std::cell::RefCell;

use nulls::Plain;

use crate::counted::Id;

/// Keys and values of one size. Keys are made of their numbers, and values of the order in which they
/// were made, so that each is told from all others.
pub(crate) trait Shape {
    type Key: Plain + Eq + Hash + Debug;
    type Value: Plain + Eq + Debug;

    fn key(number: u16) -> Self::Key;
    fn number(key: Self::Key) -> u16;
    fn value(id: u32) -> Self::Value;
    fn id(value: Self::Value) -> u32;
}

/// One word, four slots a line; a value is replaced in its place.
pub(crate) struct Small;

impl Shape for Small {
    type Key = u32;
    type Value = u32;

    fn key(number: u16) -> u32 {
        u32::from(number) * 0x1_0001
    }

    fn number(key: u32) -> u16 {
        let number = (key >> 16) as u16;
        assert_eq!(key, Self::key(number), "a key that nobody inserted");
        number
    }

    fn value(id: u32) -> u32 {
        !id
    }

    fn id(value: u32) -> u32 {
        !value
    }
}

/// Three words, two lines of two slots; a new value goes to a free slot.
pub(crate) struct Wide;

impl Shape for Wide {
    type Key = u64;
    type Value = [u64; 2];

    fn key(number: u16) -> u64 {
        u64::from(number) * 0x1_0000_0001_0001
    }

    fn number(key: u64) -> u16 {
        let number = (key >> 48) as u16;
        assert_eq!(key, Self::key(number), "a key that nobody inserted");
        number
    }

    fn value(id: u32) -> [u64; 2] {
        [!u64::from(id), id.into()]
    }

    fn id(value: [u64; 2]) -> u32 {
        let id = u32::try_from(value[1]).expect("a value that nobody made");
        assert_eq!(value, Self::value(id), "a value that nobody made");
        id
    }
}

/// Three words, of which the value is one: replaced in its place, in two lines.
pub(crate) struct LongKey;

impl Shape for LongKey {
    type Key = [u8; 16];
    type Value = u64;

    fn key(number: u16) -> [u8; 16] {
        let mut key = [0xa5; 16];
        key[..2].copy_from_slice(&number.to_le_bytes());
        key[14..].copy_from_slice(&number.to_be_bytes());
        key
    }

    fn number(key: [u8; 16]) -> u16 {
        let number = u16::from_le_bytes([key[0], key[1]]);
        assert_eq!(key, Self::key(number), "a key that nobody inserted");
        number
    }

    fn value(id: u32) -> u64 {
        u64::from(!id) << 32 | u64::from(id)
    }

    fn id(value: u64) -> u32 {
        let id = (value & 0xffff_ffff) as u32;
        assert_eq!(value, Self::value(id), "a value that nobody made");
        id
    }
}

/// All values that were ever made.
#[derive(Default)]
pub(crate) struct Ledger {
    rows: RefCell<Vec<Row>>,
}

struct Row {
    number: u16,
    /// The first value that the entry had.
    birth: u32,
}

impl Ledger {
    /// A value for the key of this number, of an entry that has had the value `old`.
    pub(crate) fn make(&self, number: u16, old: Option<u32>) -> u32 {
        let mut rows = self.rows.borrow_mut();
        let id = u32::try_from(rows.len()).expect("few");
        let birth = old.map_or(id, |old| rows[old as usize].birth);
        rows.push(Row { number, birth });
        id
    }

    pub(crate) fn next_id(&self) -> Id {
        self.rows.borrow().len()
    }

    /// Which entry has this value: entries are told by their first ones.
    pub(crate) fn birth(&self, id: u32) -> Id {
        self.rows.borrow()[id as usize].birth as usize
    }

    /// What an entry consists of. Panics if this value was made for another key.
    #[track_caller]
    pub(crate) fn entry<S: Shape>(&self, key: S::Key, value: S::Value) -> (u16, u32) {
        let (number, id) = (S::number(key), S::id(value));
        let owner = self.rows.borrow()[id as usize].number;
        assert_eq!(
            owner, number,
            "a value under a key that it was not made for"
        );
        (number, id)
    }
}
