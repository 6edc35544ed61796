// SPDX-License-Identifier: GPL-2.0

//! A cache of the blocks of a device, for metadata.
//!
//! A [`Client`] caches blocks of one size of one device, each with typed data of the user. All
//! clients share one limit and are evicted from by age; see `limit.rs` for the parameters.
//!
//! # Contexts
//!
//! [`Client::get`] finds a block that is in the cache. It takes no lock and waits for nothing, as
//! does the release of a buffer, so that completions can use both in softirq, whatever the
//! client. All that reads, allocates or waits is in [`Sleepable`], for which one needs a token
//! that only process context has. So there is no kind of client that cannot sleep: there are
//! contexts that cannot.
//!
//! # Promises
//!
//! - A missing block is read once, however many want it. Neighbours are read with one bio.
//! - An error is reported to those who wait for that block, and forgotten. A neighbour of a bad
//!   block is not hurt by it.
//! - The caches together stay within the limit at all times, except for what they have in
//!   reserve. A client makes progress without any memory if it has at least one buffer in
//!   reserve, provided that one thread holds up to as many blocks as are in reserve, and all
//!   others one; those who only [`get`](Client::get) blocks may hold as many as they like.
//! - Neither a lock that reclaim needs nor one that a hit needs is held while anything is
//!   allocated or read.
//!
//! # How it works
//!
//! - `state`: one atomic word per buffer, with the protocol of finding, filling, and evicting.
//! - `index`: the hash table from blocks to buffers, read under RCU. `lookup`: both together.
//! - `cache`: the buffers of a client, its lock, its reserves, and its clock: buffers are evicted
//!   in the order in which they came or were found used, and a hit only sets a bit.
//! - `store`: the interface for writers. `partial`: access to the bytes of a block, whose worth is
//!   in `contents` and `ranges`; `fill`, `ahead`: reading what is missing. `writeout`, `writes`:
//!   writing.
//! - `fetch`, `io`: reading. `produce`: filling without reading. `memory`, `obtain`: allocation.
//!   `evict`: the opposite. `wait`, `wakeup`: waiting.
//! - `limit`, `registry`: what all clients share.
//!
//! # Writing
//!
//! A [`Client`] lends the data of a block, which is sound because nobody changes it while others
//! can see it. Who wants to change blocks makes a [`Store`], which shares all of the above, and
//! copies instead. Its blocks can be valid, and dirty, in parts: a range is written without a
//! read of the rest.
//!
//! # Examples
//!
//! ```ignore
//! #[derive(Default)]
//! struct Hash {
//!     verified: AtomicBool,
//! }
//!
//! let client = Client::<Hash>::new(&device, 4096, 1, token)?;
//!
//! // In softirq:
//! if let Some(hash) = client.get(7) {
//!     check(hash.data(), hash.aux());
//! }
//!
//! // On a work queue:
//! let hash = client.sleepable(token).read_around(7, 0..64, bio.priority())?;
//! ```

mod ahead;
mod buffer;
mod cache;
mod client;
mod contents;
mod evict;
mod fetch;
mod fill;
mod index;
mod io;
mod limit;
mod list;
mod lookup;
mod memory;
mod obtain;
mod partial;
mod produce;
mod ranges;
mod registry;
mod state;
mod store;
mod wait;
mod wakeup;
mod writeout;
mod writes;

use crate::atomic;
pub use buffer::{
    Buffer,
    NewBuffer, //
};
pub use client::{
    Client,
    Sleepable, //
};
pub(crate) use registry::Registration;
pub use store::{
    Block,
    Blocks,
    Store, //
};

/// Data that goes with each block in the cache.
///
/// It starts as its default whenever a buffer gets a block, and is forgotten, not dropped, with
/// the block; a type that needs to be dropped is refused at build time. Eight bytes cost nothing,
/// since they fit into what a buffer takes anyway.
pub trait Aux: Default + Send + Sync + 'static {}

impl<T: Default + Send + Sync + 'static> Aux for T {}
