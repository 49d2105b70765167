//! Names of images and templates.

use joiner_api::hash::text;

use super::Spec;
use crate::object::Object;

/// The word before the hash in the description of a template that was built.
const HASH_IN_DESCRIPTION: &str = "Hash:";

impl Object<Spec> {
    /// The file that the image is downloaded to: its name with a hash of where it comes from. None
    /// where the name has no extension, which [`problems`](Self::problems) tells of.
    pub fn image_file(&self) -> Option<String> {
        let image = self.spec.source_image.as_ref()?;
        let (name, extension) = image.image_name.as_deref()?.split_once('.')?;
        Some(format!("{name}-{}.{extension}", text(&image.url)))
    }
}

/// What instances of a template are known by: the hash in its description, or else its id and a hash
/// of how it came to be. `meta` is the virtual machine's property of that name.
pub fn image_id(vmid: u32, meta: &str, description: &str) -> String {
    let built = description.match_indices(HASH_IN_DESCRIPTION).find_map(|(at, word)| {
        let rest = description[at + word.len()..].trim_start();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        (digits > 0).then(|| rest[..digits].to_owned())
    });
    built.unwrap_or_else(|| format!("{vmid}-{}", text(meta)))
}
