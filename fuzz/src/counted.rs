//! Instances that are told apart, and drops that are counted.

use std::cell::RefCell;

thread_local! {
    /// How often each instance of the current input was dropped.
    static DROPS: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The number of an instance: later ones have higher numbers.
pub(crate) type Id = usize;

/// An instance with a number of its own, equal to its clones only.
#[derive(Debug)]
pub(crate) struct Counted {
    id: Id,
    /// The number of the first one that this was cloned from.
    origin: Id,
}

impl Counted {
    pub(crate) fn new() -> Self {
        let id = next_id();
        DROPS.with_borrow_mut(|drops| drops.push(0));
        Self { id, origin: id }
    }

    /// Which instance this is. Panics if it has been dropped: then a table gave it out too late or
    /// freed it too early.
    pub(crate) fn id(&self) -> Id {
        let dropped = DROPS.with_borrow(|drops| drops[self.id]);
        assert_eq!(dropped, 0, "{self:?} is used after its drop");
        self.id
    }

    pub(crate) fn origin(&self) -> Id {
        self.origin
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.id();
        let mut clone = Self::new();
        clone.origin = self.origin;
        clone
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.id();
        other.id();
        self.origin == other.origin
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // No panic for the second time: tables catch those of destructors. `finish` sees it.
        DROPS.with_borrow_mut(|drops| drops[self.id] = drops[self.id].saturating_add(1));
    }
}

/// The number that the next instance will have.
pub(crate) fn next_id() -> Id {
    DROPS.with_borrow(Vec::len)
}

/// Runs an input that leaves no instance behind.
pub(crate) fn audit(input: impl FnOnce()) {
    // What an input that panicked has left.
    DROPS.with_borrow_mut(Vec::clear);
    input();
    DROPS.with_borrow(|drops| {
        for (id, &times) in drops.iter().enumerate() {
            assert_eq!(times, 1, "how often instance {id} was dropped");
        }
    });
}
