//! Joiner.
fn main() {}
