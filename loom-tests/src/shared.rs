//! What all threads of a model share.

use std::ops::Deref;
use std::rc::Rc;

use crate::entry::Drops;

/// What a model's threads share, and enter read sections on.
pub trait Pin: Clone + 'static {
    /// It, inside a read section.
    type View<'a>;

    /// Enters a read section.
    fn pin(&self) -> Self::View<'_>;
}

/// A table or map, and what becomes of its entries.
///
/// Loom's threads take turns on one thread of the system, so `Rc` will do, and the model does not
/// see it.
pub(crate) struct Shared<T>(Rc<Inner<T>>);

struct Inner<T> {
    /// `None` only while it is dropped.
    table: Option<T>,
    drops: Drops,
}

impl<T> Shared<T> {
    pub(crate) fn new(table: T) -> Self {
        let (table, drops) = (Some(table), Drops::default());
        Self(Rc::new(Inner { table, drops }))
    }

    pub(crate) fn drops(&self) -> &Drops {
        &self.0.drops
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.table.as_ref().expect("there until it is dropped")
    }
}

/// Every model ends with a count of its entries. One that has failed leaves its table alone: there
/// is no telling what is in it.
impl<T> Drop for Inner<T> {
    fn drop(&mut self) {
        let table = self.table.take();
        if std::thread::panicking() {
            std::mem::forget(table);
        } else {
            drop(table);
            self.drops.assert_all();
        }
    }
}
