//! Volumes.
