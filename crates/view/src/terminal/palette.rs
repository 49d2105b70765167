//! Colours. Where they are not wanted, shapes and weight say the same.

use ratatui::style::{Color, Modifier, Style};

use crate::scene::{Kind, Phase, PodState};

/// Whether and which colours are used. They are the terminal's own sixteen, so that they suit every
/// background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    coloured: bool,
}

impl Palette {
    /// Colours, or none.
    pub fn new(coloured: bool) -> Self {
        Self { coloured }
    }

    /// Titles and figures.
    pub(super) fn strong() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What may be skipped.
    pub(super) fn quiet(self) -> Style {
        self.in_colour(Color::DarkGray, Modifier::DIM)
    }

    /// What is selected.
    pub(super) fn selected() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The name of the program.
    pub(super) fn brand(self) -> Style {
        self.in_colour(Color::Cyan, Modifier::BOLD).add_modifier(Modifier::BOLD)
    }

    pub(super) fn good(self) -> Style {
        self.in_colour(Color::Green, Modifier::empty())
    }

    pub(super) fn waits(self) -> Style {
        self.in_colour(Color::Yellow, Modifier::empty())
    }

    pub(super) fn bad(self) -> Style {
        self.in_colour(Color::Red, Modifier::BOLD)
    }

    pub(super) fn cpu(self) -> Style {
        self.in_colour(Color::Blue, Modifier::empty())
    }

    pub(super) fn memory(self) -> Style {
        self.in_colour(Color::Magenta, Modifier::empty())
    }

    pub(super) fn coming(self) -> Style {
        self.in_colour(Color::Cyan, Modifier::empty())
    }

    pub(super) fn phase(self, phase: Phase) -> Style {
        match phase {
            Phase::Asked | Phase::Booting | Phase::Joining => self.coming(),
            Phase::Ready => self.good(),
            Phase::Lost => self.bad(),
            Phase::Draining | Phase::Leaving => self.waits(),
        }
    }

    pub(super) fn pod(self, state: PodState) -> Style {
        match state {
            PodState::Starting => self.waits(),
            PodState::Running => self.good(),
            PodState::Unready | PodState::Ending => self.bad(),
        }
    }

    /// The sign of a happening, and its style.
    pub(super) fn sign(self, kind: Kind) -> (&'static str, Style) {
        match kind {
            Kind::Story => ("▶", Self::strong()),
            Kind::Arrived => ("↓", self.waits()),
            Kind::Refused => ("✗", self.bad()),
            Kind::Asked => ("?", self.coming()),
            Kind::Launched => ("+", self.coming()),
            Kind::Thwarted => ("✗", self.waits()),
            Kind::Moved => ("→", self.waits()),
            Kind::Ready => ("✓", self.good()),
            Kind::Lost => ("!", self.bad()),
            Kind::Back => ("↺", self.good()),
            Kind::Leaving => ("−", self.waits()),
            Kind::Gone => ("·", self.quiet()),
            Kind::Settled => ("★", self.good()),
        }
    }

    fn in_colour(self, colour: Color, otherwise: Modifier) -> Style {
        if self.coloured { Style::new().fg(colour) } else { Style::new().add_modifier(otherwise) }
    }
}
