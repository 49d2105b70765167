//! The log: JSON lines as Karpenter writes them, or short lines on a terminal.
//!
//! Facts are fields of `tracing` events and spans. Which there are is listed in
//! `docs/operating.md`. A field with a dot in its name is part of an object: `NodeClaim.name`
//! becomes `"NodeClaim":{"name":…}`, and so does a text in the field `NodeClaim`. A field whose name says that it holds
//! a secret is never written.

mod fields;
mod line;
mod output;
mod sampler;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::{Mutex, PoisonError};

use joiner_clock::Clock;
use tracing::{
    Event, Level, Subscriber,
    level_filters::LevelFilter,
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    filter::Targets,
    layer::{Context, SubscriberExt},
    registry::{LookupSpan, Scope},
};

use self::{fields::Fields, output::Outputs, sampler::Sampler};
pub use self::{line::Form, output::OutputError};
use crate::settings::{LogLevel, LogSettings};

/// How lines are written.
#[derive(Debug, Clone)]
pub struct Style {
    /// JSON, or for people.
    pub form: Form,
    /// The commit that the program was built from.
    pub commit: &'static str,
    /// Whether each line says where in the program it was written.
    pub caller: bool,
}

/// Starts the log of the process, by its settings.
pub fn start(
    settings: &LogSettings,
    clock: &Clock,
    commit: &'static str,
) -> Result<(), OutputError> {
    let outputs = Outputs::open(&settings.outputs, &settings.error_outputs)?;
    let form = if outputs.are_read_by_people() { Form::Short } else { Form::Json };
    let style = Style { form, commit, caller: settings.level == LogLevel::Debug };
    let log = Log::new(style, clock.clone(), outputs);
    let subscriber = tracing_subscriber::registry().with(log.with_filter(filter(settings.level)));
    tracing::subscriber::set_global_default(subscriber).map_err(|_| OutputError::StartedTwice)
}

/// Libraries are heard only when something is wrong.
fn filter(level: LogLevel) -> Targets {
    let (ours, others) = match level {
        LogLevel::Debug => (LevelFilter::DEBUG, LevelFilter::WARN),
        LogLevel::Info => (LevelFilter::INFO, LevelFilter::WARN),
        LogLevel::Error => (LevelFilter::ERROR, LevelFilter::ERROR),
    };
    Targets::new()
        .with_target("joiner", ours)
        // It logs whole answers that it cannot decode, possibly Secrets; `answers` logs a safe
        // description instead. Its part `tls` logs on every connection that certificates are not
        // verified. That is logged once when the client is created.
        .with_target("kube_client::client", LevelFilter::OFF)
        .with_default(others)
}

/// Writes events as lines.
struct Log {
    style: Style,
    clock: Clock,
    state: Mutex<State>,
}

struct State {
    sampler: Sampler,
    outputs: Outputs,
}

impl Log {
    fn new(style: Style, clock: Clock, outputs: Outputs) -> Self {
        let sampler = Sampler::default();
        Self { style, clock, state: Mutex::new(State { sampler, outputs }) }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Log {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let now = self.clock.running();
        let metadata = event.metadata();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Errors are never too many to be written.
        let error = *metadata.level() == Level::ERROR;
        if !error && !state.sampler.writes(metadata.callsite(), now) {
            return;
        }
        let mut fields = Fields::default();
        let spans = context.event_scope(event).into_iter().flat_map(Scope::from_root);
        for span in spans {
            if let Some(of_span) = span.extensions().get::<Fields>() {
                fields.add(of_span);
            }
        }
        event.record(&mut fields);
        let line = line::line(&self.style, self.clock.now(), metadata, &fields);
        state.outputs.write(&line);
    }
}
