//! Property strings: pairs that commas separate, one of which may lack its key.

/// The pairs of a property string, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Properties(Vec<(Option<String>, String)>);

impl Properties {
    pub(crate) fn read(text: &str) -> Self {
        let pairs = text.split(',').filter(|part| !part.is_empty());
        Self(
            pairs
                .map(|part| match part.split_once('=') {
                    Some((key, value)) => (Some(key.to_owned()), value.to_owned()),
                    None => (None, part.to_owned()),
                })
                .collect(),
        )
    }

    pub(crate) fn pairs(&self) -> &[(Option<String>, String)] {
        &self.0
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known.as_deref() == Some(key));
        found.map(|(_, value)| value.as_str())
    }

    /// The value without a key, or that of the key that it stands for.
    pub(crate) fn bare(&self, key: &str) -> Option<&str> {
        let bare = self.0.iter().find(|(known, _)| known.is_none());
        bare.map(|(_, value)| value.as_str()).or_else(|| self.get(key))
    }

    /// Gives a key a value, in its place or at the end.
    pub(crate) fn set(&mut self, key: &str, value: &str) {
        match self.0.iter_mut().find(|(known, _)| known.as_deref() == Some(key)) {
            Some((_, old)) => value.clone_into(old),
            None => self.0.push((Some(key.to_owned()), value.to_owned())),
        }
    }

    /// Takes keys out.
    pub(crate) fn remove(&mut self, keys: &[&str]) {
        self.0.retain(|(known, _)| known.as_deref().is_none_or(|known| !keys.contains(&known)));
    }

    /// Puts the value without a key first, in place of the one before.
    pub(crate) fn set_bare(&mut self, key: &str, value: &str) {
        self.0.retain(|(known, _)| known.is_some());
        self.remove(&[key]);
        self.0.insert(0, (None, value.to_owned()));
    }

    /// Puts a pair first.
    pub(crate) fn put_first(&mut self, key: &str, value: &str) {
        self.0.insert(0, (Some(key.to_owned()), value.to_owned()));
    }

    /// All of it as text.
    pub(crate) fn text(&self) -> String {
        let pairs = self.0.iter().map(|(key, value)| match key {
            Some(key) => format!("{key}={value}"),
            None => value.clone(),
        });
        pairs.collect::<Vec<_>>().join(",")
    }
}
