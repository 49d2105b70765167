//! What becomes of objects, as seen from kube-apiserver 1.36.3.

mod create;
mod decode;
mod describe;
mod resources;
mod small;
mod update;
mod world;
