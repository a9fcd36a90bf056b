//! What the models' tables hold.

use std::cell::Cell;
use std::rc::Rc;

use loom::cell::UnsafeCell;

/// An entry that lets loom check each look at it: reading one that was not published to the reader
/// fails (I1).
pub(crate) struct Entry {
    key: u64,
    value: u64,
    written: UnsafeCell<()>,
    _dropped: Counted,
}

impl Entry {
    pub(crate) fn new(key: u64, value: u64, drops: &Drops) -> Self {
        let entry = Self {
            key,
            value,
            written: UnsafeCell::new(()),
            _dropped: drops.count_one(),
        };
        // Loom does not count the making of a cell as a step of its thread, but this.
        entry.written.with_mut(|_| ());
        entry
    }

    pub(crate) fn key(&self) -> u64 {
        self.written.with(|_| ());
        self.key
    }

    pub(crate) fn value(&self) -> u64 {
        self.written.with(|_| ());
        self.value
    }
}

/// Counts entries made and dropped. The model sees nothing of it.
#[derive(Clone, Default)]
pub(crate) struct Drops {
    made: Rc<Cell<usize>>,
    dropped: Rc<Cell<usize>>,
}

struct Counted(Rc<Cell<usize>>);

impl Drops {
    fn count_one(&self) -> Counted {
        self.made.set(self.made.get() + 1);
        Counted(Rc::clone(&self.dropped))
    }

    /// Fails unless every entry made was dropped once.
    pub(crate) fn assert_all(&self) {
        assert_eq!(
            self.dropped.get(),
            self.made.get(),
            "entries dropped, of those made"
        );
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}
