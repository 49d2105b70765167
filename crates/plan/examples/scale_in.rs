//! What a scale-in comes to where a scheduler like Kubernetes' own puts the pods: `cargo run --release -p joiner-plan
//! --example scale_in -- 20 200`, for so many seeds and with so many pods that are planned for at a time.
//!
//! A thousand pods come in waves, three hundred of them go, and the rest is moved together until nothing is left to gain.
//! Small ones are ahead of large ones when they come, which needs more instances; with `large-first` it is the other way
//! round. Pods leave their instances as the controller has them leave, the large ones first; with `any-order` as chance has
//! it.

use std::{
    collections::BTreeSet,
    io::{Result, Write},
    num::NonZeroUsize,
};

use jiff::SignedDuration;
use joiner_core::{
    disruption::{Command, DisruptionSettings},
    instance_type::InstanceType,
    label::CAPACITY_TYPE_ON_DEMAND,
    plan::PlannedClaim,
    settings::PlanSettings,
    snapshot::Snapshot,
    testing::{PodBuilder, fleet, instance_type, node, now, pod, pool, rng::Rng, snapshot},
};
use joiner_plan::{disrupt::disrupt, provision};

const POOL: &str = "default";
/// As the controller asks: moves have to hold, too, where the scheduler puts pods.
const AS_THE_CONTROLLER: DisruptionSettings =
    DisruptionSettings { spot_to_spot: false, as_scheduled: true };
/// Seconds until an instance on which something has happened may go.
const QUIET_AFTER: i64 = 30;
/// Seconds that commands take, and that pass between two looks.
const CARRYING_OUT: i64 = 2;
const LOOK_EVERY: i64 = 2;
/// Seconds that it takes until all pods have gone.
const SCALE_IN: i64 = 15;
/// Seconds without a command until the story is over.
const OVER_AFTER: i64 = 120;
/// Pods of each sort that come, and that go again.
const COME: usize = 500;
const GO: usize = 150;
/// How many of them come at a time, unless told.
const WAVE: NonZeroUsize = NonZeroUsize::new(200).unwrap();
/// How many seeds are played, unless told.
const SEEDS: NonZeroUsize = NonZeroUsize::new(20).unwrap();
/// What an instance keeps for itself.
const KEPT: Amounts = Amounts { millis: 100, mebis: 10 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Amounts {
    millis: i64,
    mebis: i64,
}

const SORTS: [Amounts; 2] =
    [Amounts { millis: 900, mebis: 3100 }, Amounts { millis: 3500, mebis: 28 * 1024 }];

/// How many pods are made in a second.
const MADE_PER_SECOND: usize = 20;
/// After how many seconds the first pods go again.
const GO_AFTER: usize = 5;

/// A pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Number {
    /// How many came before it.
    came: usize,
    sort: usize,
}

impl Number {
    /// All pods in the order in which `ReplicaSet`s make them: each in batches of 1, 2, 4 and so on, and one of them is
    /// always a batch ahead.
    fn all(ahead: usize) -> Vec<Self> {
        let mut all = Vec::new();
        let (mut made, mut batch) = (0, 1);
        while made < COME {
            let count = batch.min(COME - made);
            for sort in [ahead, 1 - ahead] {
                all.extend((all.len()..).take(count).map(|came| Self { came, sort }));
            }
            (made, batch) = (made + count, 2 * batch);
        }
        all
    }

    fn requests(self) -> Amounts {
        SORTS[self.sort]
    }

    fn build(self) -> PodBuilder {
        let Amounts { millis, mebis } = self.requests();
        pod(&format!("pod-{:05}", self.came)).cpu(&format!("{millis}m")).mem(&format!("{mebis}Mi"))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Type {
    name: String,
    cpus: i64,
    gib: i64,
}

impl Type {
    /// Those of KWOK below 32 CPUs.
    fn all() -> Vec<Self> {
        let sizes = [1, 2, 4, 8, 16];
        let families = [("c", 2), ("s", 4), ("m", 8)];
        let of = |cpus| {
            let name = move |family| format!("{family}-{cpus}x");
            families.map(|(family, factor)| Self { name: name(family), cpus, gib: cpus * factor })
        };
        sizes.into_iter().flat_map(of).collect()
    }

    /// What a claim is launched as.
    fn of(claim: &PlannedClaim) -> Self {
        let cheapest = claim.instance_types.first();
        let mut all = Self::all().into_iter();
        all.find(|each| Some(&each.name) == cheapest).expect("one of the types")
    }

    fn price(&self) -> f64 {
        0.025 * self.cpus as f64 + 0.001 * self.gib as f64 * 1.073_741_824
    }

    fn room(&self) -> Amounts {
        let Amounts { millis, mebis } = KEPT;
        Amounts { millis: self.cpus * 1000 - millis, mebis: self.gib * 1024 - mebis }
    }

    fn build(&self) -> InstanceType {
        let of = instance_type(&self.name).cpu(&self.cpus.to_string());
        let of = of.mem(&format!("{}Gi", self.gib)).pods(110);
        let of = of.keeps("cpu", &format!("{}m", KEPT.millis));
        let of = of.keeps("memory", &format!("{}Mi", KEPT.mebis)).zones(["a"]);
        of.capacity_types([CAPACITY_TYPE_ON_DEMAND]).price(self.price()).build()
    }
}

#[derive(Debug)]
struct Instance {
    name: String,
    of: Type,
    pods: Vec<Number>,
    /// When a pod came or went.
    touched: i64,
}

impl Instance {
    fn left(&self) -> Amounts {
        self.pods.iter().fold(self.of.room(), |left, pod| {
            let Amounts { millis, mebis } = pod.requests();
            Amounts { millis: left.millis - millis, mebis: left.mebis - mebis }
        })
    }

    fn takes(&self, pod: Number) -> bool {
        let (left, asked) = (self.left(), pod.requests());
        left.millis >= asked.millis && left.mebis >= asked.mebis
    }

    /// How many pods of the same sort are there.
    fn alike(&self, pod: Number) -> usize {
        self.pods.iter().filter(|each| each.sort == pod.sort).count()
    }

    /// What Kubernetes' scheduler thinks of it for a pod, its taste for spreading apart.
    fn appeal(&self, pod: Number) -> i64 {
        let (room, left, asked) = (self.of.room(), self.left(), pod.requests());
        let cpu = (left.millis - asked.millis) as f64 / room.millis as f64;
        let memory = (left.mebis - asked.mebis) as f64 / room.mebis as f64;
        let balance = 1.0 - (cpu - memory).abs() / 2.0;
        (100.0 * f64::midpoint(cpu, memory)) as i64 + (100.0 * balance) as i64
    }
}

/// A cluster in which things happen.
#[derive(Debug)]
struct World {
    rng: Rng,
    instances: Vec<Instance>,
    made: usize,
    time: i64,
    evictions: usize,
    commands: usize,
    /// Instances that had to be made because a pod was left over.
    unplanned: usize,
    /// Since when the pool has been restless.
    restless_since: Option<i64>,
}

impl World {
    /// All pods have come, wave after wave.
    fn new(seed: u64, wave: usize, ahead: usize) -> Self {
        let rng = Rng::new(seed);
        let instances = Vec::new();
        let mut world = Self {
            rng,
            instances,
            made: 0,
            time: 0,
            evictions: 0,
            commands: 0,
            unplanned: 0,
            restless_since: None,
        };
        for wave in Number::all(ahead).chunks(wave) {
            world.place(wave.to_vec());
        }
        world.unplanned = 0;
        world
    }

    fn make(&mut self, claim: &PlannedClaim) {
        self.made += 1;
        let (name, of) = (format!("node-{:04}", self.made), Type::of(claim));
        self.instances.push(Instance { name, of, pods: Vec::new(), touched: self.time });
    }

    fn price(&self) -> f64 {
        self.instances.iter().map(|each| each.of.price()).sum()
    }

    fn snapshot(&self, waiting: &[Number]) -> Snapshot {
        let mut all = snapshot().pool(pool(POOL), Type::all().iter().map(Type::build));
        for each in &self.instances {
            let Amounts { millis, mebis } = each.of.room();
            let made = node(&each.name).pool(POOL).of_type(&each.of.name).zone("a");
            let made = made.cpu(&format!("{millis}m")).mem(&format!("{mebis}Mi"));
            all = all.node(each.pods.iter().fold(made, |made, pod| made.pod(pod.build())));
        }
        all.pods(waiting.iter().map(|pod| pod.build())).build()
    }

    /// As a `ReplicaSet` does it: pods that share their instance with most of their own go first, then the youngest; ages
    /// count as the same up to twice the age.
    fn scale_in(&mut self, wave: usize) {
        let all = COME * SORTS.len();
        for sort in 0..SORTS.len() {
            let mut ranked = Vec::new();
            for (at, each) in self.instances.iter().enumerate() {
                for pod in each.pods.iter().filter(|pod| pod.sort == sort) {
                    let rank = usize::MAX - each.alike(*pod);
                    let age = GO_AFTER + (all - pod.came / wave * wave) / MADE_PER_SECOND;
                    ranked.push((rank, age.ilog2(), self.rng.below(1 << 30), at, pod.came));
                }
            }
            ranked.sort_unstable();
            for (.., at, came) in ranked.into_iter().take(GO) {
                self.instances[at].pods.retain(|pod| pod.came != came);
                let since = self.time + self.rng.below(SCALE_IN as usize) as i64;
                self.instances[at].touched = self.instances[at].touched.max(since);
            }
        }
    }

    fn decide(&mut self) -> Vec<Command> {
        let seen = self.snapshot(&[]);
        let mut fleet = fleet(&seen).pool(POOL, |rules| {
            rules.consolidate_after = Some(SignedDuration::from_secs(QUIET_AFTER));
            let for_how_long = |since| SignedDuration::from_secs(self.time - since);
            rules.restless_since = self.restless_since.map(|since| now() - for_how_long(since));
        });
        for each in &self.instances {
            let quiet = self.time - each.touched;
            fleet = fleet.claim(&each.name, |claim| {
                claim.quiet_since = Some(now() - SignedDuration::from_secs(quiet));
                claim.consolidatable = quiet >= QUIET_AFTER;
            });
        }
        let found = disrupt(&seen, &fleet.build(), &PlanSettings::default(), &AS_THE_CONTROLLER);
        let since = self.restless_since.unwrap_or(self.time);
        self.restless_since = (!found.restless.is_empty()).then_some(since);
        found.commands
    }

    fn carry_out(&mut self, commands: &[Command], any_order: bool) {
        self.commands += commands.len();
        self.time += CARRYING_OUT;
        commands.iter().flat_map(|command| &command.replacements).for_each(|new| self.make(new));
        let candidates = commands.iter().flat_map(|command| &command.candidates);
        let going: BTreeSet<&str> = candidates.map(|each| each.node.as_str()).collect();
        let stays = |each: &mut Instance| !going.contains(each.name.as_str());
        let gone = self.instances.extract_if(.., |each| !stays(each));
        let moved: Vec<Number> = gone.flat_map(|each| each.pods).collect();
        self.evictions += moved.len();
        let mut order: Vec<_> =
            moved.into_iter().map(|pod| (self.rng.below(1 << 30), pod)).collect();
        order.sort_by_key(|(chance, pod)| {
            let size = if any_order { 0 } else { pod.requests().millis };
            (-size, *chance)
        });
        self.place(order.into_iter().map(|(_, pod)| pod).collect());
    }

    /// Pods come to the scheduler; for those that it finds no place for instances are made.
    fn place(&mut self, pods: Vec<Number>) {
        let mut left = Vec::new();
        for pod in pods {
            match self.liked_most(pod) {
                Some(at) => {
                    self.instances[at].pods.push(pod);
                    self.instances[at].touched = self.time;
                }
                None => left.push(pod),
            }
        }
        if !left.is_empty() {
            let claims = provision(&self.snapshot(&left), &PlanSettings::default()).plan.claims;
            self.unplanned += claims.len();
            for claim in &claims {
                self.make(claim);
            }
            self.place(left);
        }
    }

    /// The scheduler's choice: little used, evenly used, and with few of the same.
    fn liked_most(&mut self, pod: Number) -> Option<usize> {
        let fit = self.instances.iter().enumerate().filter(|(_, each)| each.takes(pod));
        let fit: Vec<(usize, &Instance)> = fit.collect();
        let alike = || fit.iter().map(|(_, each)| each.alike(pod) + 2);
        let (most, fewest) = (alike().max()?, alike().min()?);
        let score = |each: &Instance| {
            let spread = 100 * (most + fewest - (each.alike(pod) + 2)) / most;
            each.appeal(pod) + 2 * spread as i64
        };
        let best = fit.iter().map(|(_, each)| score(each)).max()?;
        let best: Vec<usize> =
            fit.iter().filter(|(_, each)| score(each) == best).map(|(at, _)| *at).collect();
        Some(*self.rng.pick(&best))
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (words, numbers): (Vec<&str>, Vec<&str>) = arguments
        .iter()
        .map(String::as_str)
        .partition(|each| ["any-order", "large-first"].contains(each));
    let any_order = words.contains(&"any-order");
    let ahead = usize::from(words.contains(&"large-first"));
    let number = |text: &&str| text.parse().expect("a number of seeds, then one of pods");
    let seeds: NonZeroUsize = numbers.first().map_or(SEEDS, number);
    let wave: NonZeroUsize = numbers.get(1).map_or(WAVE, number);
    let mut out = std::io::stdout().lock();
    let (mut prices, mut evictions) = (0.0, 0);
    for seed in 0..seeds.get() as u64 {
        let mut world = World::new(seed, wave.get(), ahead);
        let (instances, price) = (world.instances.len(), world.price());
        world.time = 300;
        world.scale_in(wave.get());
        let (began, mut last) = (world.time, world.time);
        while world.time - last < OVER_AFTER {
            let commands = world.decide();
            if commands.is_empty() {
                world.time += LOOK_EVERY;
            } else {
                world.carry_out(&commands, any_order);
                last = world.time;
            }
        }
        writeln!(
            out,
            "seed {seed}: {instances} instances at {price:.2}/h become {} at {:.2}/h after {} s: {} commands, {} \
             evictions, {} instances for pods left over",
            world.instances.len(),
            world.price(),
            last - began,
            world.commands,
            world.evictions,
            world.unplanned
        )?;
        prices += world.price();
        evictions += world.evictions;
    }
    let count = seeds.get() as f64;
    writeln!(
        out,
        "on average {:.2}/h and {:.0} evictions",
        prices / count,
        evictions as f64 / count
    )
}
