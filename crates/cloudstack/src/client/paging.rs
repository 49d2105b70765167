//! Lists, page by page.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ClientError, Command, wire::Wire};

/// What servers give at most where nobody has changed `default.page.size`.
const USUAL_PAGE: usize = 500;
/// How often a list is read from its beginning.
const ATTEMPTS: u32 = 4;
/// What a server says of a page that is too large, before the number that it takes.
const TOO_LARGE: &str = "exceed max allowed page size value:";

/// An object that lists are made of.
pub trait Listed: DeserializeOwned {
    /// What answers call it.
    const OBJECT: &'static str;

    /// Its id, and whatever else tells it apart from others in a list.
    fn identity(&self) -> String;
}

/// The size of pages, as it was learnt from this server.
#[derive(Debug)]
pub(crate) struct PageSize(AtomicUsize);

impl Default for PageSize {
    fn default() -> Self {
        Self(AtomicUsize::new(USUAL_PAGE))
    }
}

/// How one attempt to read a list ended.
enum Attempt<T> {
    Whole(Vec<T>),
    /// Something was removed meanwhile, so that what came after it moved to a page that was read
    /// already.
    Shrank,
}

/// Reads all of a list.
pub(crate) async fn list<T: Listed>(
    wire: &Wire,
    page_size: &PageSize,
    command: &Command,
) -> Result<Vec<T>, ClientError> {
    for _ in 0..ATTEMPTS {
        if let Attempt::Whole(objects) = attempt(wire, page_size, command).await? {
            return Ok(objects);
        }
    }
    Err(ClientError::Unsettled { command: command.api.name, attempts: ATTEMPTS })
}

async fn attempt<T: Listed>(
    wire: &Wire,
    page_size: &PageSize,
    command: &Command,
) -> Result<Attempt<T>, ClientError> {
    let mut objects = Vec::new();
    let mut known = HashSet::new();
    let mut received = 0;
    let mut highest_count = 0;
    let mut page = 1;
    let mut size = page_size.0.load(Ordering::Relaxed);
    loop {
        let question =
            command.clone().with("page", page.to_string()).with("pagesize", size.to_string());
        let answer = match wire.answer(&question).await {
            Err(error) => match smaller_page(&error, size) {
                Some(smaller) => {
                    page_size.0.fetch_min(smaller, Ordering::Relaxed);
                    (size, page, received) = (smaller, 1, 0);
                    continue;
                }
                None => return Err(error),
            },
            Ok(answer) => answer,
        };
        let (count, rows) = rows(command, answer, T::OBJECT)?;
        if page > 1 && count < highest_count {
            return Ok(Attempt::Shrank);
        }
        highest_count = highest_count.max(count);
        let is_empty = rows.is_empty();
        received += rows.len();
        for row in rows {
            let object: T = read(command, row)?;
            if known.insert(object.identity()) {
                objects.push(object);
            }
        }
        if is_empty || received >= count {
            return Ok(Attempt::Whole(objects));
        }
        page += 1;
    }
}

/// The size of page that the server takes, where it refused this one and takes a smaller.
fn smaller_page(error: &ClientError, size: usize) -> Option<usize> {
    let text = &error.refusal().filter(|refusal| refusal.code == 431)?.text;
    let (_, rest) = text.split_once(TOO_LARGE)?;
    let digits: String = rest.trim().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|smaller| (1..size).contains(smaller))
}

/// How many objects there are in all, and those of this page. What is not there at all is empty.
fn rows(
    command: &Command,
    mut answer: Value,
    object: &str,
) -> Result<(usize, Vec<Value>), ClientError> {
    let malformed = |what: &str| ClientError::Malformed(format!("{}: {what}", command.api.name));
    let count = match &answer["count"] {
        Value::Null => None,
        count => Some(count.as_u64().ok_or_else(|| malformed("count is no number"))? as usize),
    };
    let rows = match answer[object].take() {
        Value::Null => Vec::new(),
        Value::Array(rows) => rows,
        _ => return Err(malformed(&format!("{object} is no list"))),
    };
    if count.is_none()
        && answer.as_object().is_some_and(|fields| fields.keys().any(|key| key != object))
    {
        return Err(malformed("it is no list"));
    }
    Ok((count.unwrap_or(rows.len()), rows))
}

/// One object of an answer.
pub(crate) fn read<T: DeserializeOwned>(command: &Command, row: Value) -> Result<T, ClientError> {
    serde_path_to_error::deserialize(row)
        .map_err(|error| ClientError::Malformed(format!("{}: {error}", command.api.name)))
}
