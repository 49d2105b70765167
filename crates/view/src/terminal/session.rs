//! The real terminal.

use std::io;

use crossterm::event::{Event, EventStream, KeyEvent};
use futures_util::StreamExt as _;
use ratatui::DefaultTerminal;

use super::Screen;
use crate::{scene::Scene, stage::Stage};

/// A terminal that is drawn on; it is given back as it was when this is dropped.
pub struct Session {
    terminal: DefaultTerminal,
    events: EventStream,
}

impl Session {
    /// Takes the terminal over. Fails where there is none.
    pub fn open() -> io::Result<Self> {
        Ok(Self { terminal: ratatui::try_init()?, events: EventStream::new() })
    }

    /// Draws a scene.
    pub fn draw(&mut self, screen: &Screen, scene: &Scene, stage: &Stage) -> io::Result<()> {
        self.terminal.draw(|frame| screen.draw(frame, scene, stage))?;
        Ok(())
    }

    /// Waits for the next key. A change of the terminal's size needs no answer but the next
    /// drawing.
    pub async fn key(&mut self) -> io::Result<KeyEvent> {
        loop {
            match self.events.next().await {
                Some(Ok(Event::Key(key))) => return Ok(key),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        ratatui::restore();
    }
}
