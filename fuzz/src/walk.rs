//! An iteration that other operations come between.

use std::collections::HashSet;

use crate::counted::Id;

/// Holds an iteration to its promise: every entry that is there from its first step to its last is
/// met exactly once, every other at most once.
pub(crate) struct Walk<'v> {
    entries: Box<dyn Iterator<Item = Id> + 'v>,
    /// What was there at the first step.
    before: HashSet<Id>,
    /// Instances from this number on came later.
    first_new: Id,
    met: HashSet<Id>,
}

impl<'v> Walk<'v> {
    pub(crate) fn new(
        entries: impl Iterator<Item = Id> + 'v,
        before: HashSet<Id>,
        first_new: Id,
    ) -> Self {
        Self {
            entries: Box::new(entries),
            before,
            first_new,
            met: HashSet::new(),
        }
    }

    /// Goes on by some steps; `now` tells which instances are in the table. Returns whether there may
    /// be more.
    pub(crate) fn go_on(&mut self, steps: usize, now: impl FnOnce() -> HashSet<Id>) -> bool {
        for _ in 0..steps {
            let Some(id) = self.entries.next() else {
                self.end(&now());
                return false;
            };
            assert!(
                self.before.contains(&id) || id >= self.first_new,
                "instance {id} was gone before the iteration began"
            );
            assert!(self.met.insert(id), "instance {id} is met twice");
        }
        true
    }

    /// Numbers are not used again: what was there at the first step and is now was there throughout.
    fn end(&self, now: &HashSet<Id>) {
        for id in self.before.intersection(now) {
            assert!(self.met.contains(id), "instance {id} is not met");
        }
    }
}
