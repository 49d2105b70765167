//! `joiner plan --dump`: the data read from a cluster, for a reader without access to it.
//!
//! There are no Secrets in it, since none are read, and of what is read only the fields that a plan depends on.

mod kept;

use std::{
    fs,
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use joiner_operator::objects::List;

use crate::{errors::Failure, input::Input, output, settings::UNSCHEDULABLE, text};

/// Writes a file for each kind that was read. What `plan -f` would read besides is left alone, but
/// then nothing is written: it would not be the same cluster.
pub(crate) fn write(folder: &Path, input: &Input) -> Result<(), Failure> {
    let failed = |path: &Path, error: &io::Error| {
        Failure::bad_input(format!("--dump: {} cannot be written: {error}", path.display()))
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let lists: Vec<List> = input
        .objects
        .lists()
        .into_iter()
        .filter(|list| input.read.contains(&list.resource) || !list.items.is_empty())
        .collect();
    let files: Vec<PathBuf> =
        lists.iter().map(|list| folder.join(format!("{}.json", list.resource))).collect();
    let found = others(folder, &files).map_err(|error| failed(folder, &error))?;
    if let Some(other) = found {
        return Err(Failure::bad_input(format!(
            "--dump: {} is there already and is not of this cluster: give another folder",
            other.display()
        )));
    }
    let mut count = 0;
    for (path, list) in files.iter().zip(lists) {
        count += list.items.len();
        write_list(path, list).map_err(|error| failed(path, &error))?;
    }
    let folder = folder.display();
    output::talk(&format!(
        "joiner: wrote {} to {folder}; plan it again with: joiner plan -f {folder} \
         --pending {UNSCHEDULABLE}, and the other flags of this one",
        text::count(count, "object")
    ));
    Ok(())
}

/// The first file that a plan of the folder would read and that is not one of ours.
fn others(folder: &Path, ours: &[PathBuf]) -> io::Result<Option<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        found.push(entry?.path());
    }
    found.retain(|path| !ours.contains(path));
    found.sort();
    Ok(found.into_iter().next())
}

/// An object on each line, so that two dumps can be compared.
fn write_list(path: &Path, list: List) -> io::Result<()> {
    let mut file = BufWriter::new(fs::File::create(path)?);
    file.write_all(b"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[")?;
    for (i, mut item) in list.items.into_iter().enumerate() {
        kept::cut(&list.resource, &mut item);
        file.write_all(if i == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut file, &item)?;
    }
    file.write_all(b"\n]}\n")?;
    file.flush()
}
