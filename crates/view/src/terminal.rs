//! A scene in a terminal.
//!
//! [`Screen`] is what is selected and where lists have been scrolled to; drawing is a function of
//! it, the scene and the stage. [`Session`] owns the real terminal and gives it back as it was.

mod chart;
mod details;
mod happenings;
mod header;
mod nodes;
mod palette;
mod screen;
mod session;
mod site;
#[cfg(test)]
mod tests;
mod waiting;
mod words;

pub use palette::Palette;
pub use screen::{Panel, Screen};
pub use session::Session;
