//! The demonstration in virtual time: minutes pass at once, and two runs of a seed agree to the
//! letter.

use std::{cell::RefCell, rc::Rc, time::Duration};

use joiner_lab::{Setup, history::Keep};
use joiner_view::stage::Stage;

use super::{
    audience::{Audience, watch},
    control::control_loop_with,
    estate, laboratory, lines, run_estate,
    story::{Play, play, story},
    vsphere::Estate,
};
use crate::{
    build::metrics_page,
    cli::DemoArgs,
    errors::{Exit, Failure},
};

/// Tells the story in lines and ends with it.
pub(super) fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| Failure::bad_input(format!("cannot start: {error}")))?;
    runtime.block_on(tell(args))
}

async fn tell(args: &DemoArgs) -> Result<Exit, Failure> {
    let seed = args.seed;
    let mut lab = laboratory(Setup { keep: Keep::Nothing, ..Setup::new(seed) });
    let clock = lab.server().clock().clone();
    let estate = estate(args, &lab);
    let audience = Audience::new(clock.now(), Stage::default(), estate.clone());
    let audience = Rc::new(RefCell::new(audience));
    let feed = lab.server().feed_with_past();
    let stage = Play::on(&lab, &audience, estate.clone());
    let story = story(seed, args.provider);
    let cloud = estate.as_ref().map(Estate::provider);
    let control = Box::pin(control_loop_with(&lab, seed, metrics_page()?, cloud));
    let server = lab.server().clone();
    let program = async {
        tokio::select! {
            biased;
            never = watch(feed, clock.clone(), Rc::clone(&audience)) => match never {},
            never = run_estate(server, estate) => match never {},
            ended = control => ended.map(|never| match never {}),
            () = play(&story, stage) => Ok(()),
            outcome = print_news(&clock, &audience) => outcome,
        }
    };
    lab.beside(program).await?;
    // What could still have been told together with something that will now not come.
    clock.sleep(Duration::from_mins(1)).await;
    lines::print(&audience.borrow_mut().news(clock.now()))?;
    Ok(Exit::Success)
}

async fn print_news(
    clock: &joiner_clock::Clock,
    audience: &RefCell<Audience>,
) -> Result<(), Failure> {
    loop {
        clock.sleep(Duration::from_secs(1)).await;
        lines::print(&audience.borrow_mut().news(clock.now()))?;
    }
}
