//! A source NAT with ports (NAPT) for TCP and UDP over IPv4, on two [`InlineHashMap`]s.
//!
//! | map | key | value | bytes | entries of a line |
//! |---|---|---|---|---|
//! | forward | inside tuple | external endpoint, lease | 14 + 10 | 2 |
//! | reverse | external tuple | inside endpoint | 14 + 6 | 2 |
//!
//! **Ports.** There is no list of free ports. A port is taken by inserting into the reverse map,
//! where the first insertion under a key wins: *the reverse entry is the reservation*. So no port is
//! given twice, and none is lost: who removes a forward entry removes the reverse entry too, and who
//! cannot insert the forward entry takes the reservation back.
//!
//! **Mapping and filtering** both depend on address and port of the remote end (RFC 4787, sections
//! 4.1 and 5), as in Linux and in VPP's `nat44-ed`: an external port serves one conversation with
//! *each* remote end, and only packets of that end come in. Millions of conversations fit behind a
//! handful of addresses. The price: this is not the endpoint-independent mapping that REQ-1 of RFC
//! 4787 and of RFC 5382 demand, and to different remote ends a port may stand for different hosts
//! (REQ-3, "port overloading"), so peers that meet through a third party need a relay.
//!
//! **Refreshing.** Only outbound packets renew a lease (RFC 4787, REQ-6). An outsider cannot keep a
//! mapping alive, and an inbound packet is one look-up and no write.
//!
//! **Hashes.** Inside hosts choose the ports in the forward map, so its hash is keyed throughout. The
//! ports in the reverse map are chosen here, so its hash may be [monotone](MonotoneState): a
//! conversation costs one hash, each further candidate port an addition and the next bucket.

mod bulk;
mod lease;
mod pool;
#[cfg(test)]
mod tests;
mod tuple;

use core::sync::atomic::{AtomicU64, Ordering};

use bytemuck::{Pod, Zeroable};
use nulls::hash::{KeyedState, MonotoneState};
use nulls::{InlineHashMap, InlineHashMapRef, InsertError};

pub(crate) use bulk::BURST;
pub(crate) use lease::Signal;
pub(crate) use pool::{PORTS, Pool};
pub(crate) use tuple::{Endpoint, TCP, Tuple, UDP};

use lease::Lease;

/// What the forward map knows of a conversation. 10 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Mapping {
    external: Endpoint,
    lease: Lease,
}

/// Why an outbound packet got no mapping. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// All ports of the host's external address are in use towards this remote end.
    PortsExhausted,
    NoMemory,
}

/// The translator. Threads share it by `&`.
pub(crate) struct Nat {
    forward: InlineHashMap<Tuple, Mapping, KeyedState>,
    reverse: InlineHashMap<Tuple, Endpoint, MonotoneState>,
    pool: Pool,
    made: AtomicU64,
    expired: AtomicU64,
}

impl Nat {
    pub(crate) fn new(pool: Pool) -> Self {
        Self {
            forward: InlineHashMap::with_hasher(KeyedState::new()),
            reverse: InlineHashMap::with_hasher(MonotoneState::new()),
            pool,
            made: AtomicU64::new(0),
            expired: AtomicU64::new(0),
        }
    }

    /// The view through which packets are translated: keep it for a burst of them.
    pub(crate) fn pin(&self) -> View<'_> {
        View {
            nat: self,
            forward: self.forward.pin(),
            reverse: self.reverse.pin(),
        }
    }

    /// Entries of the forward map and of the reverse map: as many while nobody writes.
    pub(crate) fn len(&self) -> [usize; 2] {
        [self.forward.len(), self.reverse.len()]
    }

    /// Bytes of both tables, overflow lines and all.
    pub(crate) fn table_bytes(&self) -> usize {
        self.forward.stats().table_bytes + self.reverse.stats().table_bytes
    }

    /// Mappings made so far.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// Mappings expired so far.
    pub(crate) fn expired(&self) -> u64 {
        self.expired.load(Ordering::Relaxed)
    }

    /// Removes the mappings whose lease has ended by `now`, while packets are being translated.
    ///
    /// `remove_if` and not `retain`, which does not tell what it removed: one that is renewed at the
    /// same moment stays. Whoever removes a forward entry owns its reverse entry, so the port is
    /// released exactly once however many threads do this.
    pub(crate) fn expire(&self, now: u32) {
        let view = self.pin();
        let has_ended = |mapping: &Mapping| mapping.lease.has_ended(now);
        for (inside, mapping) in &view.forward {
            if has_ended(&mapping)
                && let Ok(Some((_, removed))) = view.forward.remove_if(&inside, |_, m| has_ended(m))
            {
                view.release(&inside, removed.external);
                self.expired.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// The translator inside a read section.
pub(crate) struct View<'n> {
    nat: &'n Nat,
    forward: InlineHashMapRef<'n, Tuple, Mapping, KeyedState>,
    reverse: InlineHashMapRef<'n, Tuple, Endpoint, MonotoneState>,
}

impl View<'_> {
    /// The external endpoint that takes the place of an outbound packet's source. The first packet
    /// of a conversation makes the mapping.
    pub(crate) fn outbound(
        &self,
        inside: &Tuple,
        signal: Signal,
        now: u32,
    ) -> Result<Endpoint, Refused> {
        match self.forward.get(inside) {
            Some(mapping) => self.hit(inside, mapping, signal, now),
            None => self.make(inside, signal, now),
        }
    }

    /// The inside endpoint that takes the place of an inbound packet's destination. Without a
    /// mapping there is none, and the packet is to be dropped.
    pub(crate) fn inbound(&self, outside: &Tuple) -> Option<Endpoint> {
        self.reverse.get(outside)
    }

    /// Renews the lease of a mapping that was found, if it is time.
    fn hit(
        &self,
        inside: &Tuple,
        mapping: Mapping,
        signal: Signal,
        now: u32,
    ) -> Result<Endpoint, Refused> {
        let renewed = |lease: Lease| lease.renewed(inside.protocol(), signal, now);
        if renewed(mapping.lease).is_none() {
            return Ok(mapping.external);
        }
        let renew = |found: &Mapping| Mapping {
            lease: renewed(found.lease).unwrap_or(found.lease),
            ..*found
        };
        match self.forward.try_update(*inside, renew) {
            Ok(Some(mapping)) => Ok(mapping.external),
            // It expired in between.
            Ok(None) => self.make(inside, signal, now),
            // It is not renewed this time, and as good as before.
            Err(_) => Ok(mapping.external),
        }
    }

    fn make(&self, inside: &Tuple, signal: Signal, now: u32) -> Result<Endpoint, Refused> {
        let external = self.reserve(inside)?;
        let lease = Lease::new(inside.protocol(), signal, now);
        let mapping = Mapping { external, lease };
        match self.forward.try_insert(*inside, mapping) {
            Ok(()) => {
                self.nat.made.fetch_add(1, Ordering::Relaxed);
                Ok(external)
            }
            // Another thread had the same conversation at the same moment, and was first.
            Err(InsertError::Occupied(_, first)) => {
                self.release(inside, external);
                Ok(first.external)
            }
            Err(_) => {
                self.release(inside, external);
                Err(Refused::NoMemory)
            }
        }
    }

    /// Takes a port by entering it in the reverse map.
    fn reserve(&self, inside: &Tuple) -> Result<Endpoint, Refused> {
        let pool = &self.nat.pool;
        let address = pool.address_of(inside.local().address);
        let outside = |port| inside.with_local(Endpoint { address, port });
        let base = self.nat.reverse.hash_base(&outside(0));

        for port in pool.candidates(inside) {
            let candidate = outside(port);
            // Only looks, so ports in use cost neither a lock nor a hash.
            if self.reverse.contains_hashed(base + port, &candidate) {
                continue;
            }
            match self.reverse.try_insert(candidate, inside.local()) {
                Ok(()) => return Ok(candidate.local()),
                // Another thread took it between the two.
                Err(InsertError::Occupied(..)) => {}
                Err(_) => return Err(Refused::NoMemory),
            }
        }
        Err(Refused::PortsExhausted)
    }

    /// Gives a port back. Only for whoever owns it: who has just reserved it, or has removed the
    /// forward entry.
    fn release(&self, inside: &Tuple, external: Endpoint) {
        self.reverse.remove(&inside.with_local(external));
    }
}
