//! Chapters beside the reference: no code, only text whose examples are compiled.

#[doc = include_str!("consistency.md")]
pub mod consistency {}

#[doc = include_str!("performance.md")]
pub mod performance {}

#[doc = include_str!("reclamation.md")]
pub mod reclamation {}
