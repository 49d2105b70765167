//! Reading objects from files, as `kubectl get -o yaml|json` prints them.
//!
//! Single objects, many documents and Lists may be mixed. JSON is read in place; YAML is split into
//! documents first, and Lists are read item by item, so that time and memory grow with the input
//! and not faster.

mod json;
#[cfg(test)]
mod tests;
mod yaml;

use std::{
    fmt::{self, Display, Formatter},
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    objects::{Body, Head, NODE_CLASS_SUFFIX, Objects, Origin, Refusal, Written},
    validate::Invalid,
};

/// The path that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Why objects could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file or folder is not there or may not be read.
    #[error("{path} cannot be read; check that it is there and that you may read it")]
    Io {
        /// The path as given or found.
        path: String,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// A file is no text.
    #[error("{path}: byte {byte} is not UTF-8; save the file as UTF-8 text")]
    NotText {
        /// The file.
        path: String,
        /// Offset of the first byte that is wrong.
        byte: usize,
    },
    /// A document is neither JSON nor YAML.
    #[error("{place}: is not valid {format}: {problem}")]
    Syntax {
        /// Where.
        place: Place,
        /// `JSON` or `YAML`.
        format: &'static str,
        /// What the parser says, with line and column.
        problem: String,
    },
    /// An object is not as its kind must be.
    #[error("{place}: {}{problem}", subject(.object, .field))]
    Refused {
        /// Where.
        place: Place,
        /// Kind, namespace and name; empty where they are not known.
        object: String,
        /// Path of the field; empty for the whole object.
        field: String,
        /// What is wrong and what to write instead.
        problem: String,
    },
    /// Two objects are the same.
    #[error("{place}: {object} was already in {first}; remove one")]
    Duplicate {
        /// Where the second is.
        place: Place,
        /// Where the first is.
        first: Place,
        /// Kind, namespace and name.
        object: String,
    },
}

fn subject(object: &str, field: &str) -> String {
    let parts = [object, field].into_iter().filter(|part| !part.is_empty());
    parts.flat_map(|part| [part, ": "]).collect()
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// Number of the document, from 1.
    pub document: u32,
    /// Number of the item in a list, from 1.
    pub item: Option<u32>,
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: document {}", self.file, self.document)?;
        self.item.map_or(Ok(()), |item| write!(f, ", item {item}"))
    }
}

/// Reads every object below `paths`: a file, a folder of `*.yaml`, `*.yml` and `*.json`, or `-` for
/// `stdin`.
pub fn read(paths: &[PathBuf], stdin: impl Read) -> Result<Objects, ReadError> {
    let mut reader = Reader::default();
    reader.read_paths(paths, stdin)?;
    Ok(reader.objects)
}

/// Reads every object below `paths` as [`read`] does, but as it is written, whatever its kind.
pub fn read_as_written(
    paths: &[PathBuf],
    stdin: impl Read,
) -> Result<Vec<(Place, Value)>, ReadError> {
    let mut reader = Reader { as_written: Some(Vec::new()), ..Reader::default() };
    reader.read_paths(paths, stdin)?;
    Ok(reader.as_written.unwrap_or_default())
}

/// Reads objects from texts, each as [`read`] reads a file.
#[derive(Default)]
pub(crate) struct TextReader(Reader);

impl TextReader {
    /// Reads one text; `name` stands for its file in errors.
    pub(crate) fn read(&mut self, name: &str, text: String) -> Result<(), ReadError> {
        self.0.read_bytes(name, text.into_bytes())
    }

    /// Everything that was read.
    pub(crate) fn finish(self) -> Objects {
        self.0.objects
    }
}

fn unreadable(path: &Path, source: io::Error) -> ReadError {
    ReadError::Io { path: path.display().to_string(), source }
}

/// The file itself, or the files of a folder in order of path.
fn files_below(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let metadata = fs::metadata(path).map_err(|source| unreadable(path, source))?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|source| unreadable(&folder, source))?;
        for entry in entries {
            let entry = entry.map_err(|source| unreadable(&folder, source))?;
            let found = entry.path();
            // A link is followed to a file but not to a folder, so that no loop can arise.
            let kind = entry.file_type().map_err(|source| unreadable(&found, source))?;
            if kind.is_dir() {
                folders.push(found);
            } else if is_snapshot_file(&found) && found.is_file() {
                files.push(found);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn is_snapshot_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "json"))
}

/// Objects read so far, and where.
#[derive(Default)]
struct Reader {
    objects: Objects,
    /// Where objects go instead that are wanted as they are written.
    as_written: Option<Vec<(Place, Value)>>,
    files: Vec<String>,
    document: u32,
}

impl Reader {
    fn read_paths(&mut self, paths: &[PathBuf], mut stdin: impl Read) -> Result<(), ReadError> {
        for path in paths {
            if path.as_os_str() == STANDARD_INPUT {
                let mut bytes = Vec::new();
                let outcome = stdin.read_to_end(&mut bytes);
                outcome.map_err(|source| ReadError::Io {
                    path: "standard input".to_owned(),
                    source,
                })?;
                self.read_bytes("standard input", bytes)?;
                continue;
            }
            for file in files_below(path)? {
                let bytes = fs::read(&file).map_err(|source| unreadable(&file, source))?;
                self.read_bytes(&file.display().to_string(), bytes)?;
            }
        }
        Ok(())
    }

    fn read_bytes(&mut self, file: &str, bytes: Vec<u8>) -> Result<(), ReadError> {
        let text = String::from_utf8(bytes).map_err(|error| ReadError::NotText {
            path: file.to_owned(),
            byte: error.utf8_error().valid_up_to(),
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        self.files.push(file.to_owned());
        self.document = 0;
        if !text.trim_start().starts_with(['{', '[']) {
            return yaml::read(self, text);
        }
        // YAML's flow style starts like JSON, and so does YAML with a JSON document in it.
        let extension = Path::new(file).extension().and_then(|extension| extension.to_str());
        match json::documents(text) {
            Ok(documents) => json::read(self, &documents),
            Err((document, error)) => match extension {
                Some("yaml" | "yml") => yaml::read(self, text),
                Some("json") => Err(self.broken_json(document, &error)),
                _ if error.is_eof() => Err(self.broken_json(document, &error)),
                _ => yaml::read(self, text),
            },
        }
    }

    fn broken_json(&mut self, document: u32, error: &serde_json::Error) -> ReadError {
        self.document = document;
        self.syntax("JSON", error.to_string())
    }

    fn syntax(&self, format: &'static str, problem: String) -> ReadError {
        ReadError::Syntax { place: self.place(0), format, problem }
    }

    /// A place in the document that is being read.
    fn place(&self, item: u32) -> Place {
        let file = self.files.len().saturating_sub(1) as u32;
        self.place_of(Origin { file, document: self.document, item })
    }

    fn place_of(&self, origin: Origin) -> Place {
        Place {
            file: self.files.get(origin.file as usize).cloned().unwrap_or_default(),
            document: origin.document,
            item: (origin.item > 0).then_some(origin.item),
        }
    }

    fn refused(&self, item: u32, object: &str, invalid: Invalid) -> ReadError {
        ReadError::Refused {
            place: self.place(item),
            object: object.to_owned(),
            field: invalid.field,
            problem: invalid.problem,
        }
    }

    /// Takes the object whose head is known, from the document that is being read.
    fn add(
        &mut self,
        mut head: Head,
        body: &(impl Body + ?Sized),
        item: u32,
    ) -> Result<(), ReadError> {
        if self.as_written.is_some() {
            let written = (self.place(item), self.as_written(&head, body, item)?);
            self.as_written.get_or_insert_default().push(written);
            return Ok(());
        }
        let file = (self.files.len() - 1) as u32;
        let origin = Origin { file, document: self.document, item };
        let classes = self.objects.node_classes.len();
        match self.objects.add(&mut head, body, origin) {
            Ok(()) => {
                // Providers read their classes later, and name the place of an invalid one.
                let place = self.place_of(origin);
                if let Some(class) = self.objects.node_classes.get_mut(classes) {
                    class.place = Some(place.clone());
                }
                if is_written_by_people(&head) {
                    let object = self.as_written(&head, body, item)?;
                    self.objects.written.push(Written { place, object });
                }
                Ok(())
            }
            Err(Refusal::Invalid(invalid)) => Err(self.refused(item, &head.to_string(), invalid)),
            Err(Refusal::Duplicate(first)) => Err(ReadError::Duplicate {
                place: self.place(item),
                first: self.place_of(first),
                object: head.to_string(),
            }),
        }
    }

    fn as_written(
        &self,
        head: &Head,
        body: &(impl Body + ?Sized),
        item: u32,
    ) -> Result<Value, ReadError> {
        let decoded = body.decode::<Value>();
        let mut value =
            decoded.map_err(|invalid| self.refused(item, &head.to_string(), invalid))?;
        // Items of typed lists omit their API version and kind.
        value["apiVersion"] = Value::from(head.api_version.as_str());
        value["kind"] = Value::from(head.kind.as_str());
        Ok(value)
    }
}

/// Whether objects like this are written by hand, of kinds that our CRDs describe. Claims are made by controllers.
fn is_written_by_people(head: &Head) -> bool {
    let kinds = ["NodePool", "NodeOverlay", "CapacityBuffer"];
    kinds.contains(&head.kind.as_str()) || head.kind.ends_with(NODE_CLASS_SUFFIX)
}

/// The message for a document that is not an object.
const NOT_AN_OBJECT: &str = "is not a Kubernetes object; write apiVersion, kind and metadata";

/// The kind of a list's items, where they do not say it themselves: `Pod` for a `PodList`.
fn item_kind(list: &Head) -> Option<&str> {
    list.kind.strip_suffix("List").filter(|kind| !kind.is_empty())
}

/// Whether this is a list without items.
fn is_empty_list(head: &Head) -> bool {
    head.kind.ends_with("List") && head.name.is_empty()
}

/// Completes an item of a typed list, and rejects an object without a kind.
fn complete(mut head: Head, list: Option<&Head>, item: u32) -> Result<Head, Invalid> {
    if head.kind.is_empty()
        && let Some(list) = list
        && let Some(kind) = item_kind(list)
    {
        kind.clone_into(&mut head.kind);
        head.api_version.clone_from(&list.api_version);
    }
    for (field, text) in [("kind", &head.kind), ("apiVersion", &head.api_version)] {
        if text.is_empty() {
            return Err(Invalid::new(field, "is missing; write apiVersion and kind"));
        }
    }
    if item > 0 && head.kind == "List" {
        return Err(Invalid::new("kind", "is a List in a List; put its items into the outer one"));
    }
    Ok(head)
}

/// Decodes a tree. The slower reader that remembers fields is only asked when something is wrong.
impl Body for Value {
    fn decode<T: DeserializeOwned>(&self) -> Result<T, Invalid> {
        T::deserialize(self).or_else(|_| serde_path_to_error::deserialize(self).map_err(invalid))
    }
}

/// A decoder's error and its field. Its lines and columns are omitted: they count within the
/// object, not within the file.
fn invalid(error: serde_path_to_error::Error<serde_json::Error>) -> Invalid {
    /// Longer paths exist only where nesting is meant to do harm.
    const PATH_MAX: usize = 200;

    let mut field = error.path().to_string();
    if field == "." {
        field.clear();
    }
    if let Some((cut, _)) = field.char_indices().nth(PATH_MAX) {
        field.truncate(cut);
        field.push_str("...");
    }
    let text = error.into_inner().to_string();
    let problem = text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem);
    let remedy = if problem.starts_with("missing field") {
        "; add it"
    } else if problem.starts_with("invalid type: ") && problem.ends_with(", expected a string") {
        "; put it in quotes"
    } else {
        ""
    };
    Invalid::new(field, format!("{problem}{remedy}"))
}
