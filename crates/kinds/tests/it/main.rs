//! What becomes of objects, as seen from kube-apiserver 1.36.3.

#![expect(clippy::needless_raw_string_hashes, reason = "expected text is updated by a tool")]
#![expect(clippy::needless_pass_by_value, reason = "objects are written where they are used")]

mod create;
mod decode;
mod describe;
mod others;
mod resources;
mod small;
mod table;
mod update;
mod validate;
mod world;
