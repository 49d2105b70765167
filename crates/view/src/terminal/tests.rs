//! Scenes in, screens out.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use expect_test::{Expect, expect};
use ratatui::{Terminal, backend::TestBackend, style::Color};

use super::{Palette, Panel, Screen};
use crate::{
    scene::{Amount, Scene},
    site::{Datastore, Host, Power, Site, VirtualMachine},
    stage::{Chapter, Stage, Wish},
    testing::{busy, moment},
};

fn stage() -> Stage {
    Stage {
        title: "joiner demo".to_owned(),
        speed: 10.0,
        chapter: Some(Chapter {
            number: 2,
            of: 6,
            title: "A burst".to_owned(),
            text: "Many pods at once.".to_owned(),
        }),
        page: "http://127.0.0.1:4646".to_owned(),
        kubectl: "export KUBECONFIG=/tmp/joiner-x/kubeconfig".to_owned(),
        ..Stage::default()
    }
}

fn scene() -> Scene {
    busy().scene(moment(100.0))
}

fn drawn(
    screen: &Screen,
    scene: &Scene,
    stage: &Stage,
    columns: u16,
    rows: u16,
) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| screen.draw(frame, scene, stage)).unwrap();
    terminal
}

/// What a screen says, line by line.
fn shown(screen: &Screen, scene: &Scene, columns: u16, rows: u16) -> String {
    let terminal = drawn(screen, scene, &stage(), columns, rows);
    let buffer = terminal.backend().buffer();
    let lines = buffer.content.chunks(usize::from(columns)).map(|row| {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        format!("{}\n", line.trim_end())
    });
    lines.collect()
}

#[track_caller]
fn check(columns: u16, rows: u16, expected: &Expect) {
    expected.assert_eq(&shown(&Screen::new(Palette::new(false)), &scene(), columns, rows));
}

fn press(screen: &mut Screen, scene: &Scene, code: KeyCode) -> Option<Wish> {
    screen.press(KeyEvent::new(code, KeyModifiers::NONE), scene)
}

#[test]
fn the_smallest_terminal_shows_what_matters() {
    check(
        80,
        24,
        &expect![[r"
             joiner demo  01:40  ×10          2 waiting  2 running  1 node  1 lost  0.600/h
             2/6 A burst Many pods at once.
            ┌ Nodes: 3  cpu, memory, pods ─────────────────────────────────────────────────┐
            │batch  3 nodes, 3 pods, cpu 12 of 24, memory 6Gi of 47Gi, 0.600/h             │
            │▌batch-one   ready    c-8x spot a 0.200 ███░░░  51% █░░░░░  13% ■■·           │
            │▌batch-two   lost     c-8x spot a 0.200 ██░░░░  26% ░░░░░░   6% □·            │
            │▌batch-three booting  c-8x spot a 0.200 █████░  76% █░░░░░  20% for 3 pods    │
            │general  no nodes, cpu limit 64                                               │
            │                                                                              │
            │                                                                              │
            │                                                                              │
            └──────────────────────────────────────────────────────────────────────────────┘
            ┌ Waiting: 2 pods ─────────────────────────────────────────────────────────────┐
            │  1× shop/web         no instance type has enough resources: the pod needs cp…│
            │  1× shop/web         an instance is on its way                               │
            └──────────────────────────────────────────────────────────────────────────────┘
            ┌ What happened, and why ──────────────────────────────────────────────────────┐
            │01:13 ✗ shop/web        no place for 1 pod  no instance type has enough resou…│
            │01:11 + batch-three     c-8x, spot, 0.200/h  for 3 pods: cpu 6, memory 3Gi; c…│
            │01:00 ! batch-two       does not answer any more  kubelet is silent           │
            │00:40 ✓ batch ×2        are ready  the last 37 s after it was asked for       │
            └──────────────────────────────────────────────────────────────────────────────┘
             q quit  p pause  +/- speed  tab ↑↓ select  esc clear     http://127.0.0.1:4646
                                                 export KUBECONFIG=/tmp/joiner-x/kubeconfig
        "]],
    );
}

#[test]
fn a_large_terminal_shows_everything() {
    check(
        160,
        40,
        &expect![[r"
             joiner demo  01:40  ×10                                                                   2 waiting  2 running  1 not ready  1 node  1 coming  1 lost  0.600/h
             2/6 A burst Many pods at once.
            ┌ Nodes: 3  cpu, memory, pods ────────────────────────────────────────────────────────────┐┌ CPU over time  █ requested  ░ capacity ───────────────────────────┐
            │batch  3 nodes, 3 pods, cpu 12 of 24, memory 6Gi of 47Gi, 0.600/h, cpu limit 64          ││                              ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ │
            │▌batch-one   ready    c-8x spot a 0.200 ████░░░░  51% █░░░░░░░  13% ■■·                  ││                              ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ │
            │▌batch-two   lost     c-8x spot a 0.200 ██░░░░░░  26% █░░░░░░░   6% □·                   ││                              ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ │
            │▌batch-three booting  c-8x spot a 0.200 ██████░░  76% ██░░░░░░  20% for 3 pods           ││                              ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ │
            │general  no nodes, cpu limit 64                                                          ││                              ▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆░│
            │                                                                                         ││                              ████████████████████████████████████▆│
            │                                                                                         ││                              █████████████████████████████████████│
            │                                                                                         │└───────────────────────────────────────────────────────────────────┘
            │                                                                                         │┌ Waiting: 2 pods ──────────────────────────────────────────────────┐
            │                                                                                         ││  1× shop/web         no instance type has enough resources: the p…│
            │                                                                                         ││  1× shop/web         an instance is on its way                    │
            │                                                                                         │└───────────────────────────────────────────────────────────────────┘
            │                                                                                         │┌ What happened, and why ───────────────────────────────────────────┐
            │                                                                                         ││01:13 ✗ shop/web        no place for 1 pod                         │
            │                                                                                         ││        no instance type has enough resources: the pod needs cpu 24│
            │                                                                                         ││01:11 + batch-three     c-8x, spot, 0.200/h                        │
            │                                                                                         ││        for 3 pods: cpu 6, memory 3Gi; cheapest of 2 types that fit│
            │                                                                                         ││01:00 ! batch-two       does not answer any more  kubelet is silent│
            │                                                                                         ││00:40 ✓ batch ×2        are ready                                  │
            │                                                                                         ││        the last 37 s after it was asked for                       │
            │                                                                                         ││00:04 + batch ×2        c-8x, spot, 0.400/h                        │
            │                                                                                         ││        for 6 pods: cpu 12, memory 6Gi; cheapest of 2 types that   │
            │                                                                                         ││        fit                                                        │
            │                                                                                         ││00:02 ↓ shop/web        5 pods want a place  cpu 10, memory 5Gi    │
            │                                                                                         ││00:01 ▶ A burst  Many pods at once.                                │
            │                                                                                         ││                                                                   │
            │                                                                                         ││                                                                   │
            │                                                                                         ││                                                                   │
            │                                                                                         ││                                                                   │
            └─────────────────────────────────────────────────────────────────────────────────────────┘│                                                                   │
            ┌ Latest ─────────────────────────────────────────────────────────────────────────────────┐│                                                                   │
            │01:13 shop/web no place for 1 pod: no instance type has enough resources: the pod needs  ││                                                                   │
            │cpu 24                                                                                   ││                                                                   │
            │                                                                                         ││                                                                   │
            │                                                                                         ││                                                                   │
            └─────────────────────────────────────────────────────────────────────────────────────────┘└───────────────────────────────────────────────────────────────────┘
             q quit  p pause  +/- speed  tab ↑↓ select  esc clear                                         http://127.0.0.1:4646  export KUBECONFIG=/tmp/joiner-x/kubeconfig
        "]],
    );
}

#[test]
fn a_tall_one_has_the_chart_and_details() {
    check(
        90,
        44,
        &expect![[r"
             joiner demo  01:40  ×10          2 waiting  2 running  1 node  1 coming  1 lost  0.600/h
             2/6 A burst Many pods at once.
            ┌ CPU over time  █ requested  ░ capacity ────────────────────────────────────────────────┐
            │                                       ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ │
            │                                       ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ │
            │                                       ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄░│
            │                                       █████████████████████████████████████████████████│
            └────────────────────────────────────────────────────────────────────────────────────────┘
            ┌ Nodes: 3  cpu, memory, pods ───────────────────────────────────────────────────────────┐
            │batch  3 nodes, 3 pods, cpu 12 of 24, memory 6Gi of 47Gi, 0.600/h, cpu limit 64         │
            │▌batch-one   ready    c-8x spot a 0.200 ████░░░░  51% █░░░░░░░  13% ■■·                 │
            │▌batch-two   lost     c-8x spot a 0.200 ██░░░░░░  26% █░░░░░░░   6% □·                  │
            │▌batch-three booting  c-8x spot a 0.200 ██████░░  76% ██░░░░░░  20% for 3 pods          │
            │general  no nodes, cpu limit 64                                                         │
            │                                                                                        │
            │                                                                                        │
            │                                                                                        │
            │                                                                                        │
            │                                                                                        │
            │                                                                                        │
            │                                                                                        │
            │                                                                                        │
            └────────────────────────────────────────────────────────────────────────────────────────┘
            ┌ Waiting: 2 pods ───────────────────────────────────────────────────────────────────────┐
            │  1× shop/web         no instance type has enough resources: the pod needs cpu 24       │
            │  1× shop/web         an instance is on its way                                         │
            └────────────────────────────────────────────────────────────────────────────────────────┘
            ┌ What happened, and why ────────────────────────────────────────────────────────────────┐
            │01:13 ✗ shop/web        no place for 1 pod  no instance type has enough resources: the… │
            │01:11 + batch-three     c-8x, spot, 0.200/h  for 3 pods: cpu 6, memory 3Gi; cheapest of…│
            │01:00 ! batch-two       does not answer any more  kubelet is silent                     │
            │00:40 ✓ batch ×2        are ready  the last 37 s after it was asked for                 │
            │00:04 + batch ×2        c-8x, spot, 0.400/h  for 6 pods: cpu 12, memory 6Gi; cheapest o…│
            │00:02 ↓ shop/web        5 pods want a place  cpu 10, memory 5Gi                         │
            │00:01 ▶ A burst  Many pods at once.                                                     │
            │                                                                                        │
            └────────────────────────────────────────────────────────────────────────────────────────┘
            ┌ Latest ────────────────────────────────────────────────────────────────────────────────┐
            │01:13 shop/web no place for 1 pod: no instance type has enough resources: the pod needs │
            │cpu 24                                                                                  │
            │                                                                                        │
            └────────────────────────────────────────────────────────────────────────────────────────┘
             q quit  p pause  +/- speed  tab ↑↓ select  esc clear               http://127.0.0.1:4646
                                                           export KUBECONFIG=/tmp/joiner-x/kubeconfig
        "]],
    );
}

#[test]
fn no_size_is_too_small_to_be_drawn_on() {
    let screen = Screen::new(Palette::new(true));
    for (columns, rows) in [(1, 1), (10, 3), (20, 5), (40, 10), (79, 23), (149, 33), (400, 100)] {
        drawn(&screen, &scene(), &stage(), columns, rows);
        drawn(&screen, &Scene::default(), &Stage::default(), columns, rows);
    }
}

#[test]
fn without_colours_there_are_none() {
    let colours = |coloured| {
        let screen = Screen::new(Palette::new(coloured));
        let terminal = drawn(&screen, &scene(), &stage(), 120, 40);
        let cells = terminal.backend().buffer().content.clone();
        cells.iter().filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset).count()
    };
    assert_eq!(colours(false), 0);
    assert!(colours(true) > 100);
}

#[test]
fn keys_wish_or_select() {
    let scene = scene();
    let mut screen = Screen::new(Palette::new(true));
    assert_eq!(press(&mut screen, &scene, KeyCode::Char('q')), Some(Wish::Quit));
    assert_eq!(press(&mut screen, &scene, KeyCode::Char('p')), Some(Wish::HoldOrGoOn));
    assert_eq!(press(&mut screen, &scene, KeyCode::Char('+')), Some(Wish::Faster));
    assert_eq!(press(&mut screen, &scene, KeyCode::Char('-')), Some(Wish::Slower));
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(screen.press(control_c, &scene), Some(Wish::Quit));
    assert_eq!(press(&mut screen, &scene, KeyCode::Char('x')), None);

    assert_eq!(screen.focus(), Panel::Nodes);
    for panel in [Panel::Waiting, Panel::Happenings, Panel::Nodes] {
        press(&mut screen, &scene, KeyCode::Tab);
        assert_eq!(screen.focus(), panel);
    }
    press(&mut screen, &scene, KeyCode::BackTab);
    assert_eq!(screen.focus(), Panel::Happenings);
}

#[test]
fn escape_selects_nothing_and_never_ends_the_program() {
    let scene = scene();
    let mut screen = Screen::new(Palette::new(false));
    let untouched = shown(&screen, &scene, 160, 40);
    for code in [KeyCode::Esc, KeyCode::Down, KeyCode::Tab, KeyCode::Down, KeyCode::Tab] {
        assert_eq!(press(&mut screen, &scene, code), None);
    }
    press(&mut screen, &scene, KeyCode::Down);
    assert_ne!(shown(&screen, &scene, 160, 40), untouched);
    for _ in 0..2 {
        assert_eq!(press(&mut screen, &scene, KeyCode::Esc), None);
        assert_eq!(shown(&screen, &scene, 160, 40), untouched);
    }
}

#[test]
fn the_key_that_holds_time_says_what_it_does_next() {
    let keys = |held| {
        let stage = Stage { held, ..stage() };
        let screen = Screen::new(Palette::new(false));
        drawn(&screen, &scene(), &stage, 80, 24).backend().to_string()
    };
    assert!(keys(false).contains("p pause") && !keys(false).contains("p resume"));
    assert!(keys(true).contains("p resume") && !keys(true).contains("p pause"));
}

/// A scene with long names and large numbers.
fn large() -> Scene {
    let mut scene = scene();
    let amount = |requested, total| Amount { requested, total };
    let gib = 1_073_741_824.0;
    for (number, node) in scene.nodes.iter_mut().enumerate() {
        node.name = format!("general-purpose-6ln5{number}");
        node.instance_type = "c-16x-amd64-linux".to_owned();
        node.capacity_type = "on-demand".to_owned();
        node.zone = "test-zone-a".to_owned();
        node.price = Some(1234.567);
        node.cpu = amount(123.0, 128.0);
        node.memory = amount(123.0 * gib, 256.0 * gib);
    }
    for pool in &mut scene.pools {
        (pool.nodes, pool.pods, pool.price) = (123, 4567, 12_345.678);
        pool.cpu = amount(12_345.0, 23_456.0);
        pool.memory = amount(34_567.0 * gib, 45_678.0 * gib);
        pool.cpu_limit = Some(98_765.0);
    }
    scene
}

/// Numbers in a text, as far as they stand by themselves.
fn numbers(text: &str) -> Vec<String> {
    let parts = text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '.');
    let parts = parts.map(|part| part.trim_end_matches("Gi").trim_end_matches('.'));
    let parts = parts.filter(|part| !part.is_empty());
    parts
        .filter(|part| part.chars().all(|c| c.is_ascii_digit() || c == '.'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn where_there_is_little_room_columns_are_left_out_and_digits_never() {
    let screen = Screen::new(Palette::new(false));
    let scene = large();
    let all = numbers(&shown(&screen, &scene, 400, 60));
    for columns in 50..200 {
        let text = shown(&screen, &scene, columns, 24);
        let table = text.lines().skip_while(|line| !line.contains("┌ Nodes")).skip(1);
        let table = table.take_while(|line| !line.contains('└'));
        for line in table {
            for number in numbers(line) {
                assert!(all.contains(&number), "{number} of {columns} columns:\n{text}");
            }
        }
    }
    let small = shown(&screen, &scene, 80, 24);
    for part in ["general-purpose-6ln50", "96%", "48%", "123 nodes", "cpu 12345 of 23456"] {
        assert!(small.contains(part), "no {part} in\n{small}");
    }
}

#[test]
fn the_smallest_terminal_shows_all_ways_to_the_cluster() {
    let vcenter = "vCenter https://127.0.0.1:41443 joiner@vsphere.local joiner-demo";
    let long = format!("export KUBECONFIG=/var/folders/{}/kubeconfig", "x".repeat(90));
    let stage = Stage { vcenter: vcenter.to_owned(), kubectl: long.clone(), ..stage() };
    let screen = Screen::new(Palette::new(false));
    for columns in [80, 100, 150, 250] {
        let terminal = drawn(&screen, &scene(), &stage, columns, 24);
        let cells = &terminal.backend().buffer().content;
        let text: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        let bottom: String = text.split_whitespace().collect();
        for way in [&stage.page, &long, &stage.vcenter] {
            let way: String = way.split_whitespace().collect();
            assert!(bottom.contains(&way), "no {way} in {columns} columns");
        }
    }
}

#[test]
fn a_selected_instance_stays_selected_while_others_come_and_go() {
    let mut scene = scene();
    let mut screen = Screen::new(Palette::new(false));
    press(&mut screen, &scene, KeyCode::Down);
    press(&mut screen, &scene, KeyCode::Down);
    let selected = scene.nodes[1].name.clone();
    scene.nodes.remove(0);
    let terminal = drawn(&screen, &scene, &stage(), 160, 40);
    let text = terminal.backend().to_string();
    assert!(text.contains(&format!("{selected}: c-8x, spot, a, 0.200/h, ")), "{text}");
}

#[test]
fn hosts_datastores_and_virtual_machines_are_shown_where_somebody_can_look_into_them() {
    let amount = |requested, total| Amount { requested, total };
    let gib = |number: f64| number * 1_073_741_824.0;
    let site = Site {
        name: "vCenter".to_owned(),
        hosts: vec![
            Host {
                name: "esx-1".to_owned(),
                zone: "az1".to_owned(),
                up: true,
                cpu: amount(12.0, 32.0),
                memory: amount(gib(48.0), gib(128.0)),
                instances: 2,
            },
            Host { name: "esx-2".to_owned(), zone: "az1".to_owned(), ..Host::default() },
        ],
        datastores: vec![
            Datastore {
                name: "ssd-1".to_owned(),
                usable: true,
                space: amount(gib(599.0), gib(600.0)),
            },
            Datastore {
                name: "ssd-2".to_owned(),
                usable: true,
                space: amount(gib(100.0), gib(500.0)),
            },
        ],
        instances: vec![
            VirtualMachine {
                name: "demo-karp-batch-three".to_owned(),
                power: Power::Cloning,
                progress: Some(40),
                ..VirtualMachine::default()
            },
            VirtualMachine {
                name: "demo-karp-batch-one".to_owned(),
                host: "esx-1".to_owned(),
                datastore: "ssd-2".to_owned(),
                power: Power::On,
                progress: None,
            },
        ],
        failures: Vec::new(),
    };
    let scene = Scene { site: Some(site), ..scene() };
    let mut screen = Screen::new(Palette::new(false));
    let small = |screen: &Screen| shown(screen, &scene, 80, 24);
    assert!(!small(&screen).contains("esx-1"), "nodes matter more");
    press(&mut screen, &scene, KeyCode::BackTab);
    assert_eq!(screen.focus(), Panel::Site);
    let small = small(&screen);
    let line = |of: &str| small.lines().find(|line| line.contains(of)).unwrap_or_default();
    assert!(small.contains("vCenter: 2 hosts, 2 datastores, 2 VMs"), "{small}");
    assert!(line("esx-1").contains("38% 12/32"), "{small}");
    assert!(line("esx-1").contains("38% 48Gi/128Gi"), "{small}");
    assert!(line("esx-2").contains("does not answer"), "{small}");
    assert!(line("ssd-1").contains("100% full: 1Gi free"), "{small}");
    assert!(line("ssd-2").contains("20% 400Gi free"), "{small}");
    assert!(line("batch-three").contains("cloning 40%"), "{small}");
    let large = shown(&screen, &scene, 160, 40);
    for part in ["batch-two", "esx-2", "does not answer", "cloning 40%"] {
        assert!(large.contains(part), "no {part} in\n{large}");
    }
    press(&mut screen, &scene, KeyCode::Tab);
    assert_eq!(screen.focus(), Panel::Nodes);
}
