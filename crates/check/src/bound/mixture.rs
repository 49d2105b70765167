//! The best mixture of ways to charge prices to pods.
//!
//! There is one weight for each resource and each group of pods with limited places, and they add up to one. A pod
//! on an instance is charged the weighted parts of its price. Every choice of weights gives a bound. The bound is a
//! concave function of the weights, so a gradient climb from any start improves it.

use super::supply::Choice;

/// The steps of the climb for small inputs. The value was chosen and not measured separately: more steps give a
/// slightly better bound and take longer.
const STEPS: usize = 24;
/// How many multiplications the climb may take. The value was chosen to bound its time.
const WORK: usize = 60_000_000;
/// The length of the first step. The value was chosen and not measured separately.
const STRIDE: f64 = 1.0;
/// How many groups take part at most: those with the highest bounds alone. The value was chosen to bound the work.
const GROUPS: usize = 8;
/// A pod fits even if it exceeds the instance by this share, because that is a rounding error.
const ROUNDING: f64 = 1e-12;

/// Pods with equal requests and constraints.
#[derive(Debug)]
pub(super) struct Demand {
    /// The number of pods.
    pub(super) pods: f64,
    /// The requests of each pod, in the order of the columns.
    pub(super) requests: Box<[f64]>,
    /// The groups whose places they need.
    pub(super) groups: Vec<usize>,
}

/// Pods and instances that are independent of all others.
#[derive(Debug)]
pub(super) struct Component {
    choices: Vec<Vec<Priced>>,
    demands: Vec<(usize, Demand)>,
    places: Vec<f64>,
}

/// An instance that pods may use.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
struct Priced {
    price: f64,
    room: Box<[f64]>,
    /// The price of one unit of each resource, if it alone is charged.
    unit_price: Box<[f64]>,
}

impl Priced {
    fn holds(&self, requests: &[f64]) -> bool {
        requests.iter().zip(&self.room).all(|(wanted, room)| *wanted <= room * (1.0 + ROUNDING))
    }
}

/// A bound, with its gradient.
struct Slope {
    value: f64,
    gradient: Vec<f64>,
}

impl Component {
    pub(super) fn new(places: Vec<f64>) -> Self {
        Self { choices: Vec::new(), demands: Vec::new(), places }
    }

    /// Adds instances that some pods accept. Returns their number.
    pub(super) fn add_choices(&mut self, choices: &[Choice]) -> usize {
        let mut priced: Vec<Priced> = choices
            .iter()
            .map(|choice| {
                let unit_price = |room: &f64| if *room > 0.0 { choice.price / room } else { 0.0 };
                Priced {
                    price: choice.price,
                    room: choice.room.clone(),
                    unit_price: choice.room.iter().map(unit_price).collect(),
                }
            })
            .collect();
        // Pools often share types.
        priced.sort_by(|left, right| left.partial_cmp(right).unwrap_or(std::cmp::Ordering::Equal));
        priced.dedup();
        self.choices.push(priced);
        self.choices.len() - 1
    }

    pub(super) fn add_demand(&mut self, choices: usize, demand: Demand) {
        self.demands.push((choices, demand));
    }

    /// The best bound found.
    pub(super) fn bound(&self) -> f64 {
        let cheapest: Vec<f64> =
            self.demands.iter().map(|(choices, demand)| self.cheapest(*choices, demand)).collect();
        // Any plan has at least the instance of the pod whose cheapest instance is most expensive.
        let mut best = cheapest.iter().copied().fold(0.0, f64::max);
        let groups = self.best_groups(&cheapest);
        let columns = self.demands.first().map_or(0, |(_, demand)| demand.requests.len());
        let size = columns + groups.len();
        let mut pure: Vec<f64> = (0..columns)
            .map(|column| {
                let weights: Vec<f64> =
                    (0..size).map(|index| if index == column { 1.0 } else { 0.0 }).collect();
                self.slope(&weights, &groups).value
            })
            .collect();
        pure.extend(groups.iter().map(|(_, bound)| *bound));
        best = pure.iter().copied().fold(best, f64::max);
        self.climb(&pure, &groups, best)
    }

    /// The price of the cheapest instance that holds one pod of a demand.
    fn cheapest(&self, choices: usize, demand: &Demand) -> f64 {
        let fitting = self.choices[choices].iter().filter(|each| each.holds(&demand.requests));
        fitting.map(|each| each.price).min_by(f64::total_cmp).unwrap_or(0.0)
    }

    /// The groups whose pods need the most expensive sets of instances, with the price of these.
    fn best_groups(&self, cheapest: &[f64]) -> Vec<(usize, f64)> {
        let mut bounds: Vec<(usize, f64)> = self.places.iter().map(|_| 0.0).enumerate().collect();
        for ((_, demand), price) in self.demands.iter().zip(cheapest) {
            for &group in &demand.groups {
                bounds[group].1 += demand.pods * price / self.places[group];
            }
        }
        bounds.retain(|(_, bound)| *bound > 0.0);
        bounds.sort_by(|left, right| right.1.total_cmp(&left.1));
        bounds.truncate(GROUPS);
        bounds
    }

    /// Climbs from a mixture that prefers resources and groups with high bounds.
    fn climb(&self, pure: &[f64], groups: &[(usize, f64)], mut best: f64) -> f64 {
        let work: usize =
            self.demands.iter().map(|(choices, _)| self.choices[*choices].len() * pure.len()).sum();
        let steps = STEPS.min(WORK / work.max(1));
        let mut weights: Vec<f64> = pure.iter().map(|bound| bound * bound).collect();
        for step in 0..steps {
            let sum: f64 = weights.iter().sum();
            if sum <= 0.0 {
                break;
            }
            for weight in &mut weights {
                *weight /= sum;
            }
            let slope = self.slope(&weights, groups);
            best = best.max(slope.value);
            let steepest = slope.gradient.iter().copied().fold(0.0, f64::max);
            if steepest <= 0.0 {
                break;
            }
            let stride = STRIDE / (1.0 + step as f64 / 4.0);
            for (weight, grows) in weights.iter_mut().zip(&slope.gradient) {
                *weight *= (stride * (grows / steepest - 1.0)).exp();
            }
        }
        best
    }

    /// The bound for `weights`: columns first, then `groups`.
    fn slope(&self, weights: &[f64], groups: &[(usize, f64)]) -> Slope {
        let columns = weights.len() - groups.len();
        let mut slope = Slope { value: 0.0, gradient: vec![0.0; weights.len()] };
        let mut charged = vec![0.0; columns];
        for (choices, demand) in &self.demands {
            for (column, amount) in charged.iter_mut().enumerate() {
                *amount = weights[column] * demand.requests[column];
            }
            let placed: f64 = groups
                .iter()
                .zip(&weights[columns..])
                .filter(|((group, _), _)| demand.groups.binary_search(group).is_ok())
                .map(|((group, _), weight)| weight / self.places[*group])
                .sum();
            let share = |each: &Priced| {
                let by_size: f64 = charged
                    .iter()
                    .zip(&each.unit_price)
                    .map(|(amount, price)| amount * price)
                    .sum();
                by_size + each.price * placed
            };
            let fitting = self.choices[*choices].iter().filter(|each| each.holds(&demand.requests));
            let cheapest = fitting
                .map(|each| (share(each), each))
                .min_by(|left, right| left.0.total_cmp(&right.0));
            let Some((share, each)) = cheapest else { continue };
            slope.value += demand.pods * share;
            for (column, requested) in demand.requests.iter().enumerate() {
                slope.gradient[column] += demand.pods * requested * each.unit_price[column];
            }
            for (index, (group, _)) in groups.iter().enumerate() {
                if demand.groups.binary_search(group).is_ok() {
                    slope.gradient[columns + index] +=
                        demand.pods * each.price / self.places[*group];
                }
            }
        }
        slope
    }
}
