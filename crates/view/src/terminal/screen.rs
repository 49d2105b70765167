//! What is selected, and where everything goes.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::Line,
    widgets::{Block, Paragraph},
};

use super::{Palette, chart, details, happenings, header, nodes, site, waiting};
use crate::{
    amounts::count,
    scene::Scene,
    stage::{Stage, Wish},
};

/// A list in which something can be selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panel {
    /// Instances.
    Nodes,
    /// Pods that wait.
    Waiting,
    /// What happened.
    Happenings,
    /// Where instances are made, where that is shown.
    Site,
}

/// Rows that the screen needs to show anything but the most important.
const TALL: u16 = 34;
/// Columns from which lists stand side by side.
const WIDE: u16 = 150;

/// Rows from which reasons get lines of their own.
const ROOMY: u16 = 12;

/// What a user of the terminal has selected.
#[derive(Clone, Debug)]
pub struct Screen {
    palette: Palette,
    focus: Panel,
    /// By name, since instances come and go above and below it.
    node: Option<String>,
    waiting: usize,
    /// By number; none for the newest.
    happening: Option<u64>,
    site: usize,
}

impl Screen {
    /// A screen on which nothing is selected.
    pub fn new(palette: Palette) -> Self {
        Self { palette, focus: Panel::Nodes, node: None, waiting: 0, happening: None, site: 0 }
    }

    /// Which list the arrow keys are for.
    pub fn focus(&self) -> Panel {
        self.focus
    }

    /// Takes a key, and answers what its user wants beyond the screen.
    pub fn press(&mut self, key: KeyEvent, scene: &Scene) -> Option<Wish> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return Some(Wish::Quit),
            KeyCode::Char('q') => return Some(Wish::Quit),
            KeyCode::Esc => *self = Self::new(self.palette),
            KeyCode::Char('p' | ' ') => return Some(Wish::HoldOrGoOn),
            KeyCode::Char('+' | '=') => return Some(Wish::Faster),
            KeyCode::Char('-') => return Some(Wish::Slower),
            KeyCode::Tab | KeyCode::Right => self.focus = self.focus.next(scene),
            KeyCode::BackTab | KeyCode::Left => self.focus = self.focus.before(scene),
            KeyCode::Down | KeyCode::Char('j') => self.step(scene, 1),
            KeyCode::Up | KeyCode::Char('k') => self.step(scene, -1),
            KeyCode::Home => self.step(scene, isize::MIN),
            KeyCode::End => self.step(scene, isize::MAX),
            _ => {}
        }
        None
    }

    fn step(&mut self, scene: &Scene, by: isize) {
        let moved = |from: Option<usize>, len: usize| {
            let last = len.saturating_sub(1);
            match from {
                // The first press selects what is already at the top.
                None if by > 0 && by < isize::MAX => 0,
                from => from.unwrap_or(0).saturating_add_signed(by).min(last),
            }
        };
        match self.focus {
            Panel::Nodes => {
                let to = moved(self.selected_node(scene), scene.nodes.len());
                self.node = scene.nodes.get(to).map(|node| node.name.clone());
            }
            Panel::Waiting => {
                self.waiting = moved(Some(self.waiting), waiting::groups(scene).len());
            }
            Panel::Happenings => {
                let to = moved(Some(self.selected_happening(scene)), scene.happenings.len());
                // At the top, the newest stays selected when new ones arrive.
                let number = scene.happenings.iter().rev().nth(to).map(|own| own.number);
                self.happening = number.filter(|_| to > 0);
            }
            Panel::Site => self.site = moved(Some(self.site), things_of(scene)),
        }
    }

    fn selected_node(&self, scene: &Scene) -> Option<usize> {
        let name = self.node.as_ref()?;
        scene.nodes.iter().position(|node| node.name == *name)
    }

    /// Counted from the newest.
    fn selected_happening(&self, scene: &Scene) -> usize {
        let number = self.happening;
        let position = |number| scene.happenings.iter().rev().position(|own| own.number == number);
        number.and_then(position).unwrap_or(0)
    }

    /// Draws everything.
    pub fn draw(&self, frame: &mut Frame, scene: &Scene, stage: &Stage) {
        let area = frame.area();
        let ways = header::bottom(stage, area);
        let [top, chapter, middle, bottom] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(ways.len() as u16),
        ])
        .areas(area);
        header::draw_top(frame, top, scene, stage, self.palette);
        header::draw_chapter(frame, chapter, stage, self.palette);
        header::draw_bottom(frame, bottom, stage, &ways, self.palette);
        if area.width >= WIDE {
            let [left, right] =
                Layout::horizontal([Constraint::Fill(4), Constraint::Fill(3)]).areas(middle);
            let [chart, waiting, happenings] = Layout::vertical([
                Constraint::Length(if area.height >= TALL { 9 } else { 0 }),
                Constraint::Length(rows_for_waiting(scene, right)),
                Constraint::Fill(1),
            ])
            .areas(right);
            let [nodes, site, details] = Layout::vertical([
                Constraint::Fill(1),
                Constraint::Length(rows_for_site(scene, left)),
                Constraint::Length(6),
            ])
            .areas(left);
            self.draw_panels(frame, scene, [chart, nodes, site, waiting, happenings, details]);
        } else {
            let tall = area.height >= TALL;
            // Where there is little room, one of the two is shown: the one that is looked at.
            let (nodes_share, site_rows) = match (tall, self.focus) {
                (true, _) => (3, rows_for_site(scene, middle)),
                (false, Panel::Site) => (0, middle.height / 2),
                (false, _) => (3, 0),
            };
            let [chart, nodes, site, waiting, happenings, details] = Layout::vertical([
                Constraint::Length(if tall { 6 } else { 0 }),
                Constraint::Fill(nodes_share),
                Constraint::Length(site_rows),
                Constraint::Length(rows_for_waiting(scene, middle)),
                Constraint::Fill(2),
                Constraint::Length(if tall { 5 } else { 0 }),
            ])
            .areas(middle);
            self.draw_panels(frame, scene, [chart, nodes, site, waiting, happenings, details]);
        }
    }

    fn draw_panels(&self, frame: &mut Frame, scene: &Scene, areas: [Rect; 6]) {
        let [chart, nodes, site, waiting, happenings, details] = areas;
        if chart.height > 2 {
            let title = "CPU over time  █ requested  ░ capacity";
            let inside = self.framed(frame, chart, title, None);
            chart::draw(&scene.timeline, self.palette, inside, frame.buffer_mut());
        }
        if nodes.height > 2 {
            self.draw_nodes(frame, scene, nodes);
        }
        if let Some(own) = scene.site.as_ref().filter(|_| site.height > 2) {
            let inside = self.framed(frame, site, &site::title(own), Some(Panel::Site));
            let lines = site::lines(own, inside.width, self.palette);
            let lines = lines.into_iter().map(|line| vec![line]).collect();
            self.draw_list(frame, inside, lines, Panel::Site, Some(self.site));
        }
        let title = match scene.waiting.len() {
            0 => "No pod waits".to_owned(),
            pods => format!("Waiting: {}", count(pods, "pod")),
        };
        let inside = self.framed(frame, waiting, &title, Some(Panel::Waiting));
        let lines = waiting::lines(scene, inside.width, self.palette);
        let lines = lines.into_iter().map(|line| vec![line]).collect();
        self.draw_list(frame, inside, lines, Panel::Waiting, Some(self.waiting));
        let inside =
            self.framed(frame, happenings, "What happened, and why", Some(Panel::Happenings));
        let roomy = inside.height >= ROOMY;
        let lines = happenings::lines(scene, inside.width, roomy, self.palette);
        let selected = self.selected_happening(scene);
        self.draw_list(frame, inside, lines, Panel::Happenings, Some(selected));
        if details.height > 2 {
            let news = match self.focus {
                Panel::Nodes => self.selected_node(scene).is_none(),
                Panel::Site => true,
                Panel::Waiting | Panel::Happenings => false,
            };
            let title = if news { "Latest" } else { "Selected" };
            let inside = self.framed(frame, details, title, None);
            let lines = self.details(scene, usize::from(inside.width));
            frame.render_widget(Paragraph::new(lines), inside);
        }
    }

    fn draw_nodes(&self, frame: &mut Frame, scene: &Scene, area: Rect) {
        let title = format!("Nodes: {}  cpu, memory, pods", scene.nodes.len());
        let inside = self.framed(frame, area, &title, Some(Panel::Nodes));
        let lines = nodes::lines(scene, inside.width, self.palette);
        let selected = self.selected_node(scene);
        let at = lines.iter().position(|(number, _)| number.is_some() && *number == selected);
        let first = first_shown(at.unwrap_or(0), lines.len(), usize::from(inside.height));
        nodes::draw(&lines, selected, first, inside, frame.buffer_mut());
    }

    fn draw_list(
        &self,
        frame: &mut Frame,
        area: Rect,
        items: Vec<Vec<Line<'static>>>,
        panel: Panel,
        selected: Option<usize>,
    ) {
        let selected = selected.filter(|_| self.focus == panel);
        let above = items.iter().take(selected.unwrap_or(0)).map(Vec::len).sum();
        let all = items.iter().map(Vec::len).sum();
        let first = first_shown(above, all, usize::from(area.height));
        let lines = items.into_iter().enumerate();
        let lines = lines.flat_map(|(item, lines)| lines.into_iter().map(move |line| (item, line)));
        for ((item, line), row) in lines.skip(first).zip(area.rows()) {
            frame.render_widget(line, row);
            if Some(item) == selected {
                frame.buffer_mut().set_style(row, Palette::selected());
            }
        }
    }

    fn details(&self, scene: &Scene, columns: usize) -> Vec<Line<'static>> {
        match self.focus {
            Panel::Nodes => match self.selected_node(scene).map(|index| &scene.nodes[index]) {
                Some(node) => details::of_node(scene, node, columns),
                // Until something is selected, the news in full.
                None => self.selected_details(scene, columns),
            },
            Panel::Waiting => details::of_waiting(scene, self.waiting, columns),
            Panel::Happenings | Panel::Site => self.selected_details(scene, columns),
        }
    }

    fn selected_details(&self, scene: &Scene, columns: usize) -> Vec<Line<'static>> {
        let selected = scene.happenings.iter().rev().nth(self.selected_happening(scene));
        selected.map(|own| details::of_happening(own, columns)).unwrap_or_default()
    }

    /// A box with a title; answers what is inside.
    fn framed(&self, frame: &mut Frame, area: Rect, title: &str, panel: Option<Panel>) -> Rect {
        let focused = panel == Some(self.focus);
        let style = if focused { self.palette.brand() } else { self.palette.quiet() };
        let block = Block::bordered()
            .border_style(style)
            .title(Line::styled(format!(" {title} "), Palette::strong()));
        let inside = block.inner(area);
        frame.render_widget(block, area);
        inside
    }
}

impl Panel {
    fn next(self, scene: &Scene) -> Self {
        match self {
            Self::Nodes => Self::Waiting,
            Self::Waiting => Self::Happenings,
            Self::Happenings if scene.site.is_some() => Self::Site,
            Self::Happenings | Self::Site => Self::Nodes,
        }
    }

    fn before(self, scene: &Scene) -> Self {
        match self {
            Self::Waiting => Self::Nodes,
            Self::Happenings => Self::Waiting,
            Self::Nodes if scene.site.is_some() => Self::Site,
            Self::Nodes | Self::Site => Self::Happenings,
        }
    }
}

/// Hosts, datastores and virtual machines, all together.
fn things_of(scene: &Scene) -> usize {
    let site = scene.site.as_ref();
    site.map_or(0, |site| site.hosts.len() + site.datastores.len() + site.instances.len())
}

/// Rows for the place where instances are made: as many as there are things, within reason.
fn rows_for_site(scene: &Scene, area: Rect) -> u16 {
    match things_of(scene) {
        0 => 0,
        things => (things as u16 + 2).min(area.height * 2 / 5),
    }
}

/// Rows for pods that wait: as many as there are groups, within reason; one where there are none.
fn rows_for_waiting(scene: &Scene, area: Rect) -> u16 {
    let groups = waiting::groups(scene).len().max(1) as u16;
    groups.min((area.height / 5).max(1)) + 2
}

/// The first line to show so that the selected one is seen, with some room around it.
fn first_shown(selected: usize, lines: usize, rows: usize) -> usize {
    let most = lines.saturating_sub(rows);
    selected.saturating_sub(rows * 2 / 3).min(most)
}
