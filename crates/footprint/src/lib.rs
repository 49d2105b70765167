//! How much memory a controller that waits holds.
//!
//! The program is large, because it brings a laboratory along, and a controller uses little of it.
//! What it holds on to should be what it uses.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub use linux::{give_back_code, use_small_pages};

/// Huge pages are Linux's.
#[cfg(not(target_os = "linux"))]
pub fn use_small_pages() -> std::io::Result<()> {
    Ok(())
}

/// Only Linux is asked.
#[cfg(not(target_os = "linux"))]
pub fn give_back_code() -> std::io::Result<()> {
    Ok(())
}
