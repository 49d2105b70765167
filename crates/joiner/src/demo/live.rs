//! The demonstration for people who watch it: in the terminal, on a page, and with `kubectl`.

use std::{
    cell::RefCell,
    env,
    io::{self, IsTerminal as _},
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    rc::Rc,
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::Serving;
use joiner_clock::Clock;
use joiner_lab::{Setup, history::Keep};
use joiner_view::{
    page::{self, Publisher},
    scene::Scene,
    stage::{Stage, Wish},
    terminal::{Palette, Screen, Session},
};
use tokio::{net::TcpListener, sync::mpsc};

use super::{
    audience::{Audience, watch},
    control::control_loop_with,
    estate, laboratory, lines, run_estate,
    story::{Play, play, story},
    vsphere::{Estate, Opened},
};
use crate::{
    build::metrics_page,
    cli::DemoArgs,
    errors::{Exit, Failure},
    lab, output,
};

/// How many times as fast as usual time passes: the story takes less than a minute.
pub(super) const SPEED: f64 = 10.0;
/// How long before the present the story begins. Until then passes forty minutes at the usual speed,
/// and ages are still told in minutes: kubectl leaves them out from eight hours on.
const BEGINS_BEFORE: SignedDuration = SignedDuration::from_hours(6);
/// The speeds that keys and buttons choose from.
const SPEEDS: [f64; 8] = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
/// Where the page is unless that port is taken.
const PORT: u16 = 4646;
/// How often the picture is drawn: as often as the eye follows figures.
const FRAME: Duration = Duration::from_millis(100);

/// Shows the demonstration until its user has seen enough or, without a terminal, until it ends.
pub(super) fn run(args: &DemoArgs, speed: f64) -> Result<Exit, Failure> {
    if !args.headless && !io::stdout().is_terminal() {
        return Err(Failure::bad_input(
            "the output is no terminal that could be drawn on: use --headless for one line per \
             happening",
        ));
    }
    // What the simulation has to compute must not look like a slow cluster, and what it writes must
    // not be in the future for kubectl.
    let start = Timestamp::now().saturating_sub(BEGINS_BEFORE).unwrap_or(Timestamp::MIN);
    let clock = Clock::catching_up(start, speed);
    let (resting, working) = (clock.clone(), clock.clone());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(move || resting.runtime_rests())
        .on_thread_unpark(move || working.runtime_works())
        .build()
        .map_err(|error| Failure::bad_input(format!("cannot start: {error}")))?;
    runtime.block_on(show(args, speed, clock))
}

async fn show(args: &DemoArgs, speed: f64, clock: Clock) -> Result<Exit, Failure> {
    let mut lab = laboratory(Setup {
        clock: Some(clock.clone()),
        keep: Keep::Nothing,
        ..Setup::new(args.seed)
    });
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let api = lab::open_port(lab.server(), anywhere, true).await?;
    let kubeconfig = Kubeconfig::write(args, &api)?;
    let listener = page_listener(args.port).await?;
    let address = listener.local_addr()?;
    let (router, publisher, wishes) = page::page();
    let estate = estate(args, &lab);
    let vcenter = match &estate {
        Some(estate) => Some(estate.open().await?),
        None => None,
    };
    let stage = Stage {
        title: "joiner demo".to_owned(),
        speed,
        page: format!("http://{address}"),
        kubectl: format!("export KUBECONFIG={}", kubeconfig.path.display()),
        vcenter: vcenter.as_ref().map(Opened::told).unwrap_or_default(),
        govc: vcenter.as_ref().map(Opened::govc).unwrap_or_default(),
        ..Stage::default()
    };
    if args.headless {
        output::talk(&format!("joiner: the page is at {}; {}", stage.page, stage.kubectl));
        if vcenter.is_some() {
            let how = stage.govc.join("; ");
            output::talk(&format!("joiner: {}; {how}", stage.vcenter));
        }
    }
    let audience = Audience::new(clock.now(), stage, estate.clone());
    let audience = Rc::new(RefCell::new(audience));
    let picture =
        Picture { clock: clock.clone(), audience: Rc::clone(&audience), publisher, wishes };
    let feed = lab.server().feed_with_past();
    let stage = Play::on(&lab, &audience, estate.clone());
    let story = story(args.seed, args.provider);
    let told = async {
        play(&story, stage).await;
        // After the story the viewer controls the cluster.
        std::future::pending().await
    };
    let cloud = estate.as_ref().map(Estate::provider);
    let control = Box::pin(control_loop_with(&lab, args.seed, metrics_page()?, cloud));
    let server = lab.server().clone();
    let shown = async {
        if args.headless { picture.in_lines().await } else { picture.in_terminal().await }
    };
    let program = async {
        tokio::select! {
            biased;
            stopped = lab::stopped() => stopped,
            () = hung_up() => Ok(()),
            never = watch(feed, clock.clone(), Rc::clone(&audience)) => match never {},
            never = run_estate(server, estate) => match never {},
            ended = control => ended.map(|never| match never {}),
            never = told => never,
            shown = shown => shown,
            served = page::serve(listener, router) => {
                Err(Failure::bad_input(format!("the page can be served no more: {served:?}")))
            }
        }
    };
    let outcome = lab.beside(program).await;
    api.stop().await;
    outcome?;
    if !args.headless {
        output::talk(&format!("joiner: {}", audience.borrow().summary()));
    }
    Ok(Exit::Success)
}

/// Waits until the window of the terminal is closed, so that nothing is left behind then either.
async fn hung_up() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut hang_up) = signal(SignalKind::hangup()) {
            hang_up.recv().await;
            return;
        }
    }
    std::future::pending::<()>().await;
}

/// The file that `kubectl` is pointed at.
#[derive(Debug)]
struct Kubeconfig {
    path: PathBuf,
    /// Holds the folder of a temporary file, which goes away with it.
    _folder: Option<tempfile::TempDir>,
}

impl Kubeconfig {
    fn write(args: &DemoArgs, api: &Serving) -> Result<Self, Failure> {
        let (path, folder) = match &args.kubeconfig {
            Some(path) => (path.clone(), None),
            None => {
                let folder =
                    tempfile::Builder::new().prefix("joiner-demo-").tempdir().map_err(|error| {
                        let problem = "no temporary folder for the kubeconfig can be made";
                        Failure::bad_input(format!(
                            "{problem}; give a file with --kubeconfig: {error}"
                        ))
                    })?;
                (folder.path().join("kubeconfig"), Some(folder))
            }
        };
        lab::write_kubeconfig(&path, api)?;
        Ok(Self { path, _folder: folder })
    }
}

/// Listens for the page's visitors, on this computer only.
async fn page_listener(port: Option<u16>) -> Result<TcpListener, Failure> {
    let at = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let listener = match port {
        Some(port) => at(port).await,
        None => match at(PORT).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => at(0).await,
            outcome => outcome,
        },
    };
    listener.map_err(|error| {
        let port = port.unwrap_or(PORT);
        Failure::bad_input(format!(
            "cannot listen on port {port} of 127.0.0.1; choose another one with --port: {error}"
        ))
    })
}

/// The picture of the cluster, in any form.
struct Picture {
    clock: Clock,
    audience: Rc<RefCell<Audience>>,
    publisher: Publisher,
    wishes: mpsc::Receiver<Wish>,
}

impl Picture {
    /// Draws on the terminal until its user quits.
    async fn in_terminal(mut self) -> Result<(), Failure> {
        let coloured = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let mut screen = Screen::new(Palette::new(coloured));
        let mut session = Session::open()?;
        let mut frames = tokio::time::interval(FRAME);
        let mut scene = self.scene();
        loop {
            let wish = tokio::select! {
                biased;
                key = session.key() => screen.press(key?, &scene),
                wish = self.wishes.recv() => wish,
                _ = frames.tick() => {
                    scene = self.scene();
                    None
                }
            };
            if wish == Some(Wish::Quit) {
                return Ok(());
            }
            self.grant(wish);
            let audience = self.audience.borrow();
            session.draw(&screen, &scene, audience.stage())?;
            self.publisher.publish(&scene, audience.stage());
        }
    }

    /// Prints what happens until the story ends.
    async fn in_lines(mut self) -> Result<(), Failure> {
        let mut frames = tokio::time::interval(FRAME);
        loop {
            let wish = tokio::select! {
                biased;
                wish = self.wishes.recv() => wish,
                _ = frames.tick() => None,
            };
            self.grant(wish);
            let now = self.clock.now();
            let mut audience = self.audience.borrow_mut();
            lines::print(&audience.news(now))?;
            audience.stage_mut().caught_up = self.clock.has_caught_up();
            self.publisher.publish(&audience.scene(now), audience.stage());
            if audience.has_ended() {
                // What could still have been told together with something that will not come.
                let later = now.saturating_add(jiff::SignedDuration::from_mins(1)).unwrap_or(now);
                return lines::print(&audience.news(later));
            }
        }
    }

    /// What there is to see now.
    fn scene(&self) -> Scene {
        let mut audience = self.audience.borrow_mut();
        audience.stage_mut().caught_up = self.clock.has_caught_up();
        audience.scene(self.clock.now())
    }

    fn grant(&self, wish: Option<Wish>) {
        let mut audience = self.audience.borrow_mut();
        let stage = audience.stage_mut();
        match wish {
            Some(Wish::HoldOrGoOn) => {
                stage.held = !stage.held;
                if stage.held { self.clock.hold() } else { self.clock.go_on() }
            }
            Some(wish @ (Wish::Faster | Wish::Slower)) => {
                stage.speed = next_speed(stage.speed, wish == Wish::Faster);
                self.clock.set_speed(stage.speed);
            }
            Some(Wish::Quit) | None => {}
        }
    }
}

/// The next speed to choose from; the same at the end.
fn next_speed(speed: f64, faster: bool) -> f64 {
    let next = if faster {
        SPEEDS.into_iter().find(|other| *other > speed)
    } else {
        SPEEDS.into_iter().rev().find(|other| *other < speed)
    };
    next.unwrap_or(speed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_go_up_and_down_between_bounds() {
        let all = |from: f64, faster| {
            std::iter::successors(Some(from), move |speed| {
                let next = next_speed(*speed, faster);
                (next.total_cmp(speed).is_ne()).then_some(next)
            })
            .collect::<Vec<f64>>()
        };
        assert_eq!(all(10.0, true), [10.0, 20.0, 50.0, 100.0]);
        assert_eq!(all(3.0, false), [3.0, 2.0, 1.0, 0.5]);
    }
}
