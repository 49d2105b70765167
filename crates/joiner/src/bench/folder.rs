//! A workload on disk, in the files that `joiner plan` and Karpenter's oracle both read.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{random::Random, workloads::Workload};

/// A folder with `snapshot/cluster.json` and `instance-types.json`.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Whether it goes away with this value.
    temporary: bool,
}

impl Folder {
    /// Writes a workload below `parent`, where it stays.
    pub(super) fn write(
        parent: &Path,
        workload: &Workload,
        pods: usize,
        seed: u64,
    ) -> io::Result<Self> {
        let folder = Self {
            path: parent.join(format!("{}-{pods}-{seed}", workload.name)),
            temporary: false,
        };
        fs::create_dir_all(folder.snapshot())?;
        serde_json::to_writer(
            BufWriter::new(File::create(folder.instance_types())?),
            &(workload.instance_types)(),
        )?;
        let mut file = BufWriter::new(File::create(folder.snapshot().join("cluster.json"))?);
        file.write_all(br#"{"apiVersion":"v1","kind":"List","items":["#)?;
        let mut result = Ok(());
        let mut separator = "\n";
        let mut add = |object: Value| {
            if result.is_ok() {
                result = write!(file, "{separator}{object}");
                separator = ",\n";
            }
        };
        (workload.objects)(pods, &mut Random::new(seed), &mut add);
        result?;
        file.write_all(b"\n]}\n")?;
        file.flush()?;
        Ok(folder)
    }

    /// Writes a workload where it goes away again when the value is dropped.
    pub(super) fn temporary(workload: &Workload, pods: usize, seed: u64) -> io::Result<Self> {
        let parent = std::env::temp_dir().join(format!("joiner-bench-{}", std::process::id()));
        let mut folder = Self::write(&parent, workload, pods, seed)?;
        folder.temporary = true;
        Ok(folder)
    }

    /// A folder that is there.
    pub(super) fn open(path: &Path) -> Self {
        Self { path: path.to_owned(), temporary: false }
    }

    /// The folder itself.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The cluster's objects.
    pub(super) fn snapshot(&self) -> PathBuf {
        self.path.join("snapshot")
    }

    /// The instances that can be had.
    pub(super) fn instance_types(&self) -> PathBuf {
        self.path.join("instance-types.json")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.temporary {
            // What cannot be removed is only in the way of a later clean-up, not of this run.
            let _ = fs::remove_dir_all(&self.path);
            if let Some(parent) = self.path.parent() {
                let _ = fs::remove_dir(parent);
            }
        }
    }
}
