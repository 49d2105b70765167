//! Storages and what is on them.

use bytes::Bytes;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA384, SHA512, digest};
use serde_json::{Value, json};

use super::{Call, Reply};
use crate::{
    estate::{storage::Store, vm::hex},
    refusal::Refusal,
    task::{Act, Download, Step},
    world::World,
};

/// The extensions of files, by what they are.
const EXTENSIONS: [(&str, &[&str]); 3] = [
    ("iso", &[".iso", ".img"]),
    ("vztmpl", &[".tar.gz", ".tar.xz", ".tar.zst", ".tar.bz2", ".tar"]),
    ("import", &[".ova", ".qcow2", ".raw", ".vmdk"]),
];

/// The digest of a file in hexadecimal; none for an algorithm that this server lacks.
pub(crate) fn checksum(algorithm: &str, bytes: &[u8]) -> Option<String> {
    let algorithm = match algorithm {
        "sha1" => &SHA1_FOR_LEGACY_USE_ONLY,
        "sha256" => &SHA256,
        "sha384" => &SHA384,
        "sha512" => &SHA512,
        _ => return None,
    };
    Some(hex(digest(algorithm, bytes).as_ref()))
}

impl World {
    pub(super) fn call_storage(&mut self, call: &Call) -> Result<Reply, Refusal> {
        let (node, name) = (call.text("node").to_owned(), call.text("storage").to_owned());
        if call.name == "storages" {
            return Ok(Reply::Done(self.storages(call, &node)));
        }
        let store = self.estate.store(&name, &node).map_err(Refusal::failed)?;
        match call.name.as_str() {
            "storagestatus" => Ok(Reply::Done(row(store, &node))),
            "content" => Ok(Reply::Done(self.content(call, store, &node))),
            "contentdelete" => self.delete_content(call, &node, &name),
            _ => {
                let content = call.text("content").to_owned();
                let file = file_name(call, store, &content)?;
                if call.name == "download" {
                    return self.download(call, node, name, file, content);
                }
                let bytes = call.file.clone();
                let bytes = bytes.ok_or_else(|| Refusal::parameter("filename", "no file"))?;
                check_upload(call, &bytes)?;
                let act = Act::Store { node, store: name, name: file, content, bytes };
                let steps = vec![Step::Wait(self.behaviour.durations.upload), Step::Act(act)];
                let task = call.task("imgcopy", "", steps);
                Ok(self.begin_reply(task))
            }
        }
    }

    fn storages(&self, call: &Call, node: &str) -> Value {
        let wanted: Vec<&str> =
            call.text("content").split(',').filter(|content| !content.is_empty()).collect();
        let stores = self.estate.stores.values().filter(|store| {
            let path = format!("/storage/{}", store.facts.name);
            let seen = ["Datastore.Audit", "Datastore.AllocateSpace"];
            store.is_on(node)
                && call.get("storage").is_none_or(|name| name == store.facts.name)
                && call.get("target").is_none_or(|target| store.is_on(target))
                && (wanted.is_empty() || wanted.iter().any(|content| store.holds(content)))
                && !(call.flag("enabled") && store.facts.disabled)
                && seen.iter().any(|privilege| self.may(&call.caller, &path, privilege))
        });
        stores.map(|store| row(store, node)).collect()
    }

    fn content(&self, call: &Call, store: &Store, node: &str) -> Value {
        let vmid: Option<u32> = call.number("vmid");
        let volumes = store.seen_from(node).filter(|(_, volume)| {
            call.get("content").is_none_or(|content| content == volume.content)
                && (vmid.is_none() || volume.vmid == vmid)
        });
        let rows = volumes.map(|(name, volume)| {
            let mut row = json!({
                "volid": format!("{}:{name}", store.facts.name),
                "content": volume.content,
                "format": volume.format,
                "size": volume.size,
                "ctime": self.seconds(volume.made),
            });
            if let Some(vmid) = volume.vmid {
                row["vmid"] = vmid.into();
            }
            row
        });
        rows.collect()
    }

    fn download(
        &mut self,
        call: &Call,
        node: String,
        store: String,
        name: String,
        content: String,
    ) -> Result<Reply, Refusal> {
        let may = |path: &str, privilege: &str| self.may(&call.caller, path, privilege);
        let reads = may("/", "Sys.Audit") && may("/", "Sys.Modify");
        if !reads {
            self.demand(&call.caller, &format!("/nodes/{node}"), &["Sys.AccessNetwork"])?;
        }
        if call.get("compression").is_some() && content != "iso" {
            return Err(Refusal::parameter("compression", "decompression not supported for this"));
        }
        let checksum = checksum_of(call)?;
        let (url, id) = (call.text("url").to_owned(), name.clone());
        let act = Act::Download(Download { node, store, name, content, url, checksum });
        let steps = vec![Step::Wait(self.behaviour.durations.download), Step::Act(act)];
        let task = call.task("download", &id, steps);
        Ok(self.begin_reply(task))
    }

    fn delete_content(&mut self, call: &Call, node: &str, store: &str) -> Result<Reply, Refusal> {
        let volume = call.text("volume");
        let volume =
            if volume.contains(':') { volume.to_owned() } else { format!("{store}:{volume}") };
        let path = format!("/storage/{store}");
        let known = self.estate.volume(&volume, node);
        let Some(known) = known.filter(|_| volume.starts_with(&format!("{store}:"))) else {
            return Err(Refusal::failed(format!("volume '{volume}' does not exist")));
        };
        match known.vmid {
            Some(vmid) if self.estate.vms.contains_key(&vmid) => {
                return Err(Refusal::failed(format!(
                    "Cannot remove image, a guest with VMID '{vmid}' exists!"
                )));
            }
            _ => self.demand(&call.caller, &path, &["Datastore.Allocate"])?,
        }
        let act = Act::RemoveVolume { node: node.to_owned(), volume: volume.clone() };
        let steps = vec![Step::Wait(self.behaviour.durations.write), Step::Act(act)];
        let task = call.task("imgdel", &format!("@{store}"), steps);
        let task = self.begin(task);
        let limit = call.number("delay").map(std::time::Duration::from_secs);
        Ok(match limit {
            Some(limit) => Reply::Await { task, limit: Some(limit) },
            None => Reply::Task(task),
        })
    }
}

fn row(store: &Store, node: &str) -> Value {
    let active = !store.facts.disabled && !store.offline;
    let (total, used) = if active { (store.facts.size, store.used(node)) } else { (0, 0) };
    json!({
        "storage": store.facts.name,
        "type": store.facts.kind,
        "content": store.facts.content.join(","),
        "active": u8::from(active),
        "enabled": u8::from(!store.facts.disabled),
        "shared": u8::from(store.facts.shared),
        "total": total,
        "used": used,
        "avail": total.saturating_sub(used),
    })
}

/// The name of a file that may be kept on a storage.
fn file_name(call: &Call, store: &Store, content: &str) -> Result<String, Refusal> {
    let name = call.text("filename");
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept = |letter: char| letter.is_ascii_alphanumeric() || "-.+=_".contains(letter);
    let name: String = name.chars().map(|it| if kept(it) { it } else { '_' }).collect();
    if !store.has_files() {
        let text = format!("can't upload to storage type '{}'", store.facts.kind);
        return Err(Refusal::failed(text));
    }
    if !store.holds(content) {
        let text = format!(
            "storage '{}' is not configured for content type '{content}'",
            store.facts.name
        );
        return Err(Refusal::failed(text));
    }
    let fits = EXTENSIONS.iter().any(|(known, extensions)| {
        *known == content && extensions.iter().any(|extension| name.ends_with(extension))
    });
    if !fits {
        return Err(Refusal::parameter("filename", "wrong file extension"));
    }
    Ok(name)
}

fn checksum_of(call: &Call) -> Result<Option<(String, String)>, Refusal> {
    match (call.get("checksum-algorithm"), call.get("checksum")) {
        (Some(algorithm), Some(sum)) => {
            if checksum(algorithm, b"").is_none() {
                let text = format!("this server does not know the algorithm {algorithm}");
                return Err(Refusal::new(501, text));
            }
            Ok(Some((algorithm.to_owned(), sum.to_owned())))
        }
        (None, None) => Ok(None),
        (Some(_), None) => {
            Err(Refusal::parameter("checksum-algorithm", "missing property - 'checksum'"))
        }
        (None, Some(_)) => {
            Err(Refusal::parameter("checksum", "missing property - 'checksum-algorithm'"))
        }
    }
}

fn check_upload(call: &Call, bytes: &Bytes) -> Result<(), Refusal> {
    let Some((algorithm, wanted)) = checksum_of(call)? else { return Ok(()) };
    let found = checksum(&algorithm, bytes).unwrap_or_default();
    if found == wanted.to_ascii_lowercase() {
        return Ok(());
    }
    Err(Refusal::failed(format!("checksum mismatch: got '{found}' != expect '{wanted}'")))
}
