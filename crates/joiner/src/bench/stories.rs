//! `joiner bench stories`: the scenarios of Karpenter's performance suite in virtual time.
//!
//! The laboratory plays the cluster and KWOK's nodes, and the engine that `joiner run` runs cares for
//! it. An hour passes in seconds, a seed always tells the same story, and everything that was
//! violated on the way is found in the record afterwards.

use std::time::{Duration, Instant};

use clap::Args;
use jiff::Timestamp;
use joiner_apiserver::{Caller, DeleteOptions, Key, Resource};
use joiner_clock::Clock;
use joiner_lab::{Setup, checks, history::Keep};
use joiner_operator::metrics::Registry;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::{
    lab,
    scenarios::{self, ALL, Limit, Load, Scenario, Then, fleet::Fleet, moved::Moved, objects},
};
use crate::{
    build::metrics_page,
    demo,
    errors::{Exit, Failure},
    output::{self, Format},
    text::{self, Align, BAD, Cell, Table},
};

/// How long no instance may have come or gone until the cluster has settled.
const SETTLED_AFTER: Duration = Duration::from_mins(3);
/// How often the cluster is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long a phase may take.
const PATIENCE: Duration = Duration::from_hours(2);

/// `joiner bench stories`.
#[derive(Debug, Args)]
#[command(after_help = scenarios::help())]
pub(crate) struct StoriesArgs {
    /// Which scenarios to play; all without
    #[arg(value_name = "SCENARIO", value_parser = scenarios::names())]
    scenarios: Vec<String>,
    /// What happens once all pods run, instead of the scenario's own: none, fewer (pods, as the
    /// scenario says), the percentage of pods that stay, drift (of all instances), or drain (the pool
    /// is deleted)
    #[arg(long, value_name = "WHAT", value_parser = Then::parse)]
    then: Option<Then>,
    /// What chance is drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Play with this share of all pods, to see quickly whether it works
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = lab::share)]
    share: f64,
    /// How to print the results
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

/// What a story came to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    scenario: &'static str,
    chapters: Vec<Chapter>,
    /// What was violated on the way.
    violations: Vec<String>,
    /// How long it took to play.
    seconds: f64,
}

/// A part of a story.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Chapter {
    name: &'static str,
    /// Virtual time until its last change.
    seconds: f64,
    fleet: Fleet,
    moved: Moved,
    /// What Karpenter's suite allows Karpenter.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<Limit>,
    /// Why it ended before it was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    unfinished: Option<String>,
}

impl Told {
    fn is_well(&self) -> bool {
        self.violations.is_empty()
            && self.chapters.iter().all(|chapter| {
                let limit = chapter.limit.map_or(f64::INFINITY, |limit| limit.seconds);
                chapter.unfinished.is_none() && chapter.seconds <= limit
            })
    }
}

/// Runs `joiner bench stories`.
pub(super) fn run(args: &StoriesArgs) -> Result<Exit, Failure> {
    let mut all = Vec::new();
    for scenario in ALL.iter().filter(|scenario| scenario.is_wanted(&args.scenarios)) {
        output::progress(scenario.name);
        all.push(tell(scenario, args.then.unwrap_or(scenario.then), args.share, args.seed)?);
    }
    match args.output {
        Format::Table | Format::Wide => output::text(&render(&all)),
        Format::Json => output::json(&all),
        Format::Yaml => output::yaml(&all),
    }?;
    Ok(if all.iter().all(Told::is_well) { Exit::Success } else { Exit::Violated })
}

fn tell(scenario: &'static Scenario, then: Then, share: f64, seed: u64) -> Result<Told, Failure> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|error| Failure::bad_input(format!("cannot start: {error}")))?;
    runtime.block_on(play(scenario, then, share, seed))
}

async fn play(
    scenario: &'static Scenario,
    then: Then,
    share: f64,
    seed: u64,
) -> Result<Told, Failure> {
    let started = Instant::now();
    let setup = Setup { keep: Keep::WithoutHeartbeats, ..Setup::new(seed) };
    let mut lab = demo::laboratory(setup);
    let registry = metrics_page()?;
    let control = Box::pin(demo::control_loop(&lab, seed, registry.clone()));
    let stage = Stage {
        caller: lab.caller("user"),
        clock: lab.server().clock().clone(),
        registry,
        loads: scenario.loads(share),
        then,
    };
    let whole = share >= 1.0 && then == scenario.then;
    let limits = scenario.limits.filter(|_| whole);
    let chapters = lab
        .beside(async {
            tokio::select! {
                biased;
                ended = control => ended.map(|never| match never {}),
                chapters = stage.play(scenario.backlog) => chapters,
            }
        })
        .await?;
    let limits = limits.map_or([None; 2], |limits| limits.map(Some));
    let chapters = chapters.into_iter().zip(limits);
    Ok(Told {
        scenario: scenario.name,
        chapters: chapters.map(|(chapter, limit)| Chapter { limit, ..chapter }).collect(),
        violations: checks::all(lab.history()).iter().map(ToString::to_string).collect(),
        seconds: started.elapsed().as_secs_f64(),
    })
}

/// What a story is played with.
struct Stage {
    caller: Caller,
    clock: Clock,
    registry: Registry,
    loads: Vec<Load>,
    then: Then,
}

impl Stage {
    /// Pods come, and then what is to happen then.
    async fn play(&self, pool_comes_last: bool) -> Result<Vec<Chapter>, Failure> {
        self.create(NODE_CLASSES, objects::node_class())?;
        if !pool_comes_last {
            self.create(NODE_POOLS, objects::node_pool())?;
            // A pool is ready before pods come, as one is that has been there for a while.
            self.clock.sleep(LOOK_EVERY).await;
        }
        for load in &self.loads {
            self.create(DEPLOYMENTS, objects::deployment(load))?;
        }
        if pool_comes_last {
            self.clock.sleep(SETTLED_AFTER).await;
            self.create(NODE_POOLS, objects::node_pool())?;
        }
        let begin = self.clock.now();
        let mut chapters = vec![self.until("scale-out", begin, || self.all_run()).await?];
        if self.then != Then::Nothing && chapters[0].unfinished.is_none() {
            chapters.push(self.afterwards().await?);
        }
        Ok(chapters)
    }

    async fn afterwards(&self) -> Result<Chapter, Failure> {
        let begin = self.clock.now();
        let (pool, old) = (Key::new("", objects::NAME), self.claims());
        match self.then {
            Then::Nothing => {}
            Then::Fewer | Then::Keep(_) => {
                for load in &self.loads {
                    let patch = json!({"spec": {"replicas": self.then.left(load)}});
                    let key = Key::new("default", &load.name);
                    let scaled = self.caller.merge(&resource(DEPLOYMENTS), &key, None, patch);
                    scaled.map_err(|status| refused(&status.message))?;
                }
            }
            Then::Drift => {
                let template = objects::drifting_template();
                let changed = self.caller.merge(&resource(NODE_POOLS), &pool, None, template);
                changed.map_err(|status| refused(&status.message))?;
            }
            Then::Drain => {
                let gone =
                    self.caller.delete(&resource(NODE_POOLS), &pool, DeleteOptions::default());
                gone.map_err(|status| refused(&status.message))?;
            }
        }
        match self.then {
            Then::Drift => {
                let replaced =
                    || self.claims().iter().all(|claim| !old.contains(claim)) && self.all_run();
                self.until("drift", begin, replaced).await
            }
            Then::Keep(0) | Then::Drain => {
                let none_left = || self.claims().is_empty() && self.list::<Value>(NODES).is_empty();
                self.until("scale-in", begin, none_left).await
            }
            Then::Nothing | Then::Fewer | Then::Keep(_) => self.until_settled(begin).await,
        }
    }

    /// Waits until something holds.
    async fn until(
        &self,
        name: &'static str,
        begin: Timestamp,
        over: impl Fn() -> bool,
    ) -> Result<Chapter, Failure> {
        let mut unfinished = None;
        while !over() {
            if self.since(begin) > PATIENCE.as_secs_f64() {
                unfinished = Some(format!("not over after {} hours", PATIENCE.as_secs() / 3600));
                break;
            }
            self.clock.sleep(LOOK_EVERY).await;
        }
        self.chapter(name, begin, self.since(begin), unfinished)
    }

    /// Waits until no instance has come or gone for a while, and all pods run.
    async fn until_settled(&self, begin: Timestamp) -> Result<Chapter, Failure> {
        let (mut instances, mut changed) = (self.claims(), begin);
        loop {
            self.clock.sleep(LOOK_EVERY).await;
            let now = self.claims();
            if now != instances || !self.all_run() {
                (instances, changed) = (now, self.clock.now());
            }
            let took = changed.duration_since(begin).as_secs_f64();
            if self.since(changed) >= SETTLED_AFTER.as_secs_f64() {
                return self.chapter("scale-in", begin, took, None);
            }
            if self.since(begin) > PATIENCE.as_secs_f64() {
                let why = format!("does not settle within {} hours", PATIENCE.as_secs() / 3600);
                return self.chapter("scale-in", begin, took, Some(why));
            }
        }
    }

    fn since(&self, moment: Timestamp) -> f64 {
        self.clock.now().duration_since(moment).as_secs_f64()
    }

    fn chapter(
        &self,
        name: &'static str,
        begin: Timestamp,
        seconds: f64,
        unfinished: Option<String>,
    ) -> Result<Chapter, Failure> {
        let (nodes, pods) = (self.list(NODES), self.list(PODS));
        let fleet = Fleet::new(&nodes, &pods, &joiner_kwok::instance_types(), Some(begin));
        Ok(Chapter {
            name,
            seconds,
            fleet: fleet.map_err(Failure::bad_input)?,
            moved: Moved::read(&self.registry.text()),
            limit: None,
            unfinished,
        })
    }

    /// Whether every pod that is wanted runs, and no other.
    fn all_run(&self) -> bool {
        let wanted: u64 = self
            .list::<Value>(DEPLOYMENTS)
            .iter()
            .map(|deployment| deployment["spec"]["replicas"].as_u64().unwrap_or(0))
            .sum();
        let pods: Vec<Value> = self.list(PODS);
        pods.len() as u64 == wanted && pods.iter().all(|pod| pod["status"]["phase"] == "Running")
    }

    /// Names of all claims.
    fn claims(&self) -> Vec<String> {
        let names = self
            .list::<Value>(NODE_CLAIMS)
            .into_iter()
            .map(|claim| claim["metadata"]["name"].as_str().unwrap_or_default().to_owned());
        names.collect()
    }

    fn list<T: DeserializeOwned>(&self, of: Plural) -> Vec<T> {
        let objects = self.caller.list(&resource(of), None);
        let read =
            |object: Value| serde_json::from_value(object).expect("served objects are valid");
        objects.iter().map(|object| read(object.value())).collect()
    }

    fn create(&self, of: Plural, object: Value) -> Result<(), Failure> {
        let made = self.caller.create(&resource(of), object);
        made.map(drop).map_err(|status| refused(&status.message))
    }
}

/// A group and the plural name of a kind in it.
type Plural = (&'static str, &'static str);
const DEPLOYMENTS: Plural = ("apps", "deployments");
const NODES: Plural = ("", "nodes");
const NODE_CLAIMS: Plural = ("karpenter.sh", "nodeclaims");
const NODE_CLASSES: Plural = (joiner_kwok::NODE_CLASS_GROUP, "kwoknodeclasses");
const NODE_POOLS: Plural = ("karpenter.sh", "nodepools");
const PODS: Plural = ("", "pods");

fn resource((group, plural): Plural) -> Resource {
    Resource::new(group, plural)
}

fn refused(why: &str) -> Failure {
    Failure::bad_input(format!("the laboratory refuses a part of the story: {why}"))
}

fn render(all: &[Told]) -> String {
    let right = |title| (title, Align::Right);
    let mut table = Table::new([
        ("SCENARIO", Align::Left),
        ("CHAPTER", Align::Left),
        right("TIME"),
        right("LIMIT"),
        right("PODS"),
        right("NODES"),
        right("PRICE/H"),
        right("CPU"),
        right("MEMORY"),
        right("EVICTIONS"),
        right("COMMANDS"),
    ]);
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    let seconds = |seconds: f64| format!("{seconds:.0} s");
    for told in all {
        for chapter in &told.chapters {
            let limit = chapter.limit.map(|limit| limit.seconds);
            let is_late = limit.is_some_and(|limit| chapter.seconds > limit);
            let time = match &chapter.unfinished {
                Some(_) => Cell::new(format!("> {}", seconds(chapter.seconds)), BAD),
                None if is_late => Cell::new(seconds(chapter.seconds), BAD),
                None => seconds(chapter.seconds).into(),
            };
            let (fleet, moved) = (&chapter.fleet, &chapter.moved);
            table.row([
                told.scenario.into(),
                chapter.name.into(),
                time,
                limit.map(seconds).unwrap_or_default().into(),
                text::thousands(fleet.pods).into(),
                text::thousands(fleet.nodes).into(),
                text::price(fleet.price).into(),
                percent(fleet.cpu_requested).into(),
                percent(fleet.memory_requested).into(),
                text::thousands(moved.evictions).into(),
                text::thousands(moved.commands).into(),
            ]);
        }
    }
    let mut lines = vec![
        table.render().trim_end().to_owned(),
        String::new(),
        "TIME is virtual, until the last change; LIMIT is what Karpenter's suite allows Karpenter. \
         EVICTIONS and COMMANDS count from the beginning of the story."
            .to_owned(),
    ];
    for told in all {
        let problems = told.chapters.iter().filter_map(|chapter| chapter.unfinished.as_ref());
        for problem in problems.chain(&told.violations) {
            lines.push(format!("{}: {}", told.scenario, text::styled(problem, BAD)));
        }
        let took = super::report::duration(told.seconds);
        lines.push(format!("{}: played in {took}.", told.scenario));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests;
