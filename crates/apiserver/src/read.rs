//! Getting and listing objects.

use std::sync::Arc;

use bytes::Bytes;
use joiner_schema::{
    FieldError,
    names::NameRule,
    selector::{FieldSelector, LabelSelector},
};
use serde_json::{Map, Value, json};

use crate::{
    Status,
    body::{Body, ListProgress, ListWriter},
    negotiate::Shape,
    object::{Key, Object},
    options::ListOptions,
    page::Page,
    registry::Rules,
    status::{Cause, Details},
    store::{Compacted, Store, Table},
    table,
    view::View,
};

/// Which objects of a resource a request means.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) namespace: Option<Arc<str>>,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Filter {
    /// Reads the selectors of a request.
    pub(crate) fn parse(
        view: &View,
        namespace: Option<&str>,
        name: Option<&str>,
        options: &ListOptions,
    ) -> Result<Self, Status> {
        let labels = LabelSelector::parse(&options.label_selector).map_err(Status::bad_request)?;
        let mut fields =
            FieldSelector::parse(&options.field_selector).map_err(Status::bad_request)?;
        for term in &mut fields.terms {
            match &view.version().rules {
                Rules::BuiltIn(resource) => {
                    let field = joiner_kinds::selectable_field(resource, &term.field)
                        .map_err(Status::bad_request)?;
                    field.clone_into(&mut term.field);
                }
                Rules::Custom(custom) => {
                    let namespaced = view.kind.namespaced;
                    custom
                        .check_field_label(&term.field, namespaced)
                        .map_err(Status::bad_request)?;
                }
            }
        }
        Ok(Self {
            namespace: namespace.map(Into::into),
            name: name.map(Into::into),
            labels,
            fields,
        })
    }

    pub(crate) fn matches(&self, object: &Object) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| *namespace == object.key.namespace)
            && self.name.as_ref().is_none_or(|name| *name == object.key.name)
            && self.labels.matches_with(|key| object.label(key))
            && self.fields.matches(|field| Some(object.field(field)))
    }
}

/// The objects of one page of a list.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) version: u64,
    pub(crate) objects: Vec<Arc<Object>>,
    /// Where the next page begins, and how many objects come after this page where that is known.
    pub(crate) next: Option<(Page, Option<usize>)>,
}

/// Reads a page of a list.
pub(crate) fn list(
    store: &Store,
    view: &View,
    filter: &Filter,
    options: &ListOptions,
) -> Result<Listed, Status> {
    let current = store.version();
    let page = options.continue_token.as_deref().map(Page::decode).transpose()?;
    let at = match &page {
        Some(page) => {
            if options.resource_version.as_deref().is_some_and(|version| version != "0") {
                return Err(Status::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            page.version
        }
        None => exact_version(options, current)?,
    };
    let Some(table) = store.table(&view.kind.storage) else {
        return Ok(Listed { version: at.unwrap_or(current), objects: Vec::new(), next: None });
    };
    let after = page.as_ref().map(|page| &page.after);
    let limit = options.limit.filter(|_| options.resource_version.as_deref() != Some("0"));
    let (objects, more) = match at.filter(|at| *at < current) {
        None => take(table.range(filter.namespace.as_deref(), after), filter, limit),
        Some(at) => take(past(table, filter, after, at, page.is_some())?.iter(), filter, limit),
    };
    let version = at.unwrap_or(current);
    let next = more.and_then(|remaining| {
        let after = objects.last()?.key.clone();
        Some((Page { version: Some(version), after }, remaining))
    });
    Ok(Listed { version, objects, next })
}

/// The version whose state was asked for; none for the newest.
fn exact_version(options: &ListOptions, current: u64) -> Result<Option<u64>, Status> {
    let Some(text) = options.resource_version.as_deref() else { return Ok(None) };
    let asked = parse_version(text)
        .map_err(|error| Status::bad_request(format!("invalid resource version: {error}")))?;
    if asked > current {
        return Err(version_too_large(asked, current));
    }
    let exact = match options.resource_version_match.as_deref() {
        Some(rule) => rule == "Exact",
        None => options.limit.is_some(),
    };
    Ok((exact && asked > 0).then_some(asked))
}

/// Reads a resource version.
pub(crate) fn parse_version(text: &str) -> Result<u64, FieldError> {
    text.parse().map_err(|_| {
        let detail = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
        FieldError::invalid("resourceVersion", text, detail)
    })
}

/// Names that could not stand in a path lead nowhere.
pub(crate) fn check_name(key: &Key) -> Result<(), Status> {
    let wrong = NameRule::PathSegment.check(&key.name, false);
    if wrong.is_empty() {
        return Ok(());
    }
    let (name, wrong) = (&key.name, wrong.join(";"));
    Err(Status::bad_request(format!("Name parameter invalid: {name:?}: {wrong}")))
}

/// The version asked for is yet to come.
pub(crate) fn version_too_large(asked: u64, current: u64) -> Status {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let cause = Cause {
        reason: "ResourceVersionTooLarge".into(),
        message: "Too large resource version".into(),
        field: String::new(),
    };
    let details = Details { causes: vec![cause], retry_after_seconds: 1, ..Details::default() };
    Status { details: Some(details), ..Status::plain(504, "Timeout", message) }
}

type Taken = (Vec<Arc<Object>>, Option<Option<usize>>);

/// Takes as many objects as a page holds. The second half says whether there are more, and how
/// many where no selector hides that.
fn take<'a>(
    mut objects: impl Iterator<Item = &'a Arc<Object>>,
    filter: &Filter,
    limit: Option<usize>,
) -> Taken {
    let limit = limit.unwrap_or(usize::MAX);
    let mut taken = Vec::new();
    while let Some(object) = objects.next() {
        // As in the real server, what comes next may turn out not to match.
        if taken.len() == limit {
            let selective = !filter.labels.is_everything() || !filter.fields.terms.is_empty();
            return (taken, Some((!selective).then(|| 1 + objects.count())));
        }
        if filter.matches(object) {
            taken.push(Arc::clone(object));
        }
    }
    (taken, None)
}

/// The objects as they were at a version.
fn past(
    table: &Table,
    filter: &Filter,
    after: Option<&Key>,
    version: u64,
    continued: bool,
) -> Result<Vec<Arc<Object>>, Status> {
    let mut then = table.undo_to(version).map_err(|Compacted| too_old(continued, after))?;
    let mut objects: Vec<Arc<Object>> = Vec::new();
    for object in table.range(filter.namespace.as_deref(), after) {
        match then.remove(&object.key) {
            Some(Some(earlier)) => objects.push(earlier),
            Some(None) => {}
            None => objects.push(Arc::clone(object)),
        }
    }
    // What is left was deleted since.
    objects.extend(then.into_values().flatten().filter(|object| {
        after.is_none_or(|after| object.key > *after)
            && filter.namespace.as_ref().is_none_or(|ns| *ns == object.key.namespace)
    }));
    objects.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(objects)
}

fn too_old(continued: bool, after: Option<&Key>) -> Status {
    match after.filter(|_| continued) {
        None => Status::expired("The resourceVersion for the provided list is too old."),
        Some(_) => Status::expired(
            "The provided continue parameter is too old to display a consistent list result. You \
             can start a new list without the continue parameter, or use the continue token in \
             this response to retrieve the remainder of the results. Continuing with the provided \
             token results in an inconsistent list - objects that were created, modified, or \
             deleted between the time the first chunk was returned and now may show up in the \
             list.",
        ),
    }
}

/// The body of a list.
pub(crate) fn list_body(view: &View, listed: Listed, now: jiff::Timestamp) -> Result<Body, Status> {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".into(), listed.version.to_string().into());
    if matches!(view.version().rules, Rules::Custom(_)) && view.shape == Shape::Object {
        metadata.insert("continue".into(), "".into());
    }
    if let Some((page, remaining)) = &listed.next {
        metadata.insert("continue".into(), page.encode().into());
        if let Some(remaining) = remaining {
            metadata.insert("remainingItemCount".into(), (*remaining).into());
        }
    }
    let metadata = Value::Object(metadata);
    let (api_version, kind) = view.list_type();
    Ok(match view.shape {
        Shape::Metadata => return Err(view.a_list()),
        Shape::Table => {
            let rows = listed.objects.iter().map(|object| table::row(view, object, now)).collect();
            let table = table::table(metadata, table::columns(view), rows);
            Body::whole(table.to_string())
        }
        Shape::Object | Shape::Discovery if view.shows_stored() => {
            let head = format!(
                "{{\"kind\":{kind:?},\"apiVersion\":{api_version:?},\"metadata\":{metadata},\
                 \"items\":["
            );
            // Typed lists leave out the type of their entries; those of custom resources do not.
            let item_prefix = match view.version().rules {
                Rules::BuiltIn(_) => Bytes::from_static(b"{"),
                Rules::Custom(_) => view.version().head.clone(),
            };
            Body::list(ListWriter {
                head: head.into(),
                item_prefix,
                objects: listed.objects.into_iter(),
                progress: ListProgress::Head,
            })
        }
        _ => {
            let items: Vec<Value> = listed
                .objects
                .iter()
                .map(|object| {
                    let mut value = view.value(object);
                    if view.shape == Shape::MetadataList {
                        return crate::view::partial(&value);
                    }
                    if let (Rules::BuiltIn(_), Some(fields)) =
                        (&view.version().rules, value.as_object_mut())
                    {
                        fields.remove("apiVersion");
                        fields.remove("kind");
                    }
                    value
                })
                .collect();
            let mut list = json!({
                "kind": kind, "apiVersion": api_version, "metadata": metadata, "items": items,
            });
            if view.shape == Shape::MetadataList && items.is_empty() {
                list["items"] = Value::Null;
            }
            Body::whole(list.to_string())
        }
    })
}
