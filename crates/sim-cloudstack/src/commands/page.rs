//! Pages of lists.

use serde_json::{Map, Value, json};

use super::Call;
use crate::{
    commands::call::Given,
    refusal::{Refusal, code},
};

/// The rows that a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    first: usize,
    size: usize,
}

impl Page {
    /// Reads which rows are asked for. Without a page, as many as a page may have.
    pub(crate) fn read(given: &Given, size_max: u32) -> Result<Self, Refusal> {
        let size_max = size_max as usize;
        match (given.number("page"), given.number("pagesize")) {
            (None, None | Some(-1)) => Ok(Self { first: 0, size: size_max }),
            (Some(_), None) => {
                let text = "\"pagesize\" parameter is required when \"page\" is specified";
                Err(Refusal::plain(code::PARAMETER, text))
            }
            (None, Some(_)) => {
                let text = "\"page\" parameter is required when \"pagesize\" is specified";
                Err(Refusal::plain(code::PARAMETER, text))
            }
            (Some(page), Some(size)) => {
                if size > size_max as i64 {
                    return Err(Refusal::value(format!(
                        "Page size can't exceed max allowed page size value: {size_max}"
                    )));
                }
                if page < 1 || size < 1 {
                    let text = format!("page {page} of size {size}: both have to be above 0");
                    return Err(Refusal::value(text));
                }
                let size = size as usize;
                Ok(Self { first: (page as usize - 1).saturating_mul(size), size })
            }
        }
    }
}

impl Call {
    /// The answer of a list: the rows of the page, and how many there are. Lists without any have
    /// no count.
    pub(crate) fn listed<T>(&self, all: &[T], row: impl Fn(&T) -> Value) -> Value {
        self.listed_as(&self.command.object, all, row)
    }

    fn listed_as<T>(&self, object: &str, all: &[T], row: impl Fn(&T) -> Value) -> Value {
        if all.is_empty() {
            return json!({});
        }
        let mut answer = Map::from_iter([("count".to_owned(), Value::from(all.len()))]);
        let rows: Vec<Value> =
            all.iter().skip(self.page.first).take(self.page.size).map(row).collect();
        if !rows.is_empty() && !self.given.flag("retrieveonlyresourcecount") {
            answer.insert(object.to_owned(), rows.into());
        }
        Value::Object(answer)
    }
}

/// Takes out what has no value: answers leave it out.
pub(crate) fn without_nulls(mut row: Value) -> Value {
    if let Value::Object(fields) = &mut row {
        fields.retain(|_, value| !value.is_null());
    }
    row
}
