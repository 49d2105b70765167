//! An inventory as it changes.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    Element, Fault, MoRef, Object, Vim, VimError,
    client::Seat,
    collector::Collector,
    properties::{ObjectUpdate, Of, UpdateKind, Updates},
};

/// Properties of all objects of a kind below a container, as they change.
///
/// Only [`Inventory::next`] queries the server, so dropping its future or the inventory ends the
/// queries. What is kept in the server for it goes with [`Inventory::close`], or with the session.
#[derive(Debug)]
pub struct Inventory {
    vim: Vim,
    container: MoRef,
    kind: String,
    paths: Vec<Arc<str>>,
    followed: Option<Followed>,
}

/// What is kept in the server.
#[derive(Debug)]
struct Followed {
    collector: Collector,
    seat: Seat,
    view: MoRef,
    /// Whether all there is has been told.
    told: bool,
}

/// What is new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// All there is. It replaces everything that was told before: the first time, and whenever
    /// the server had to be asked anew.
    All(Vec<Object>),
    /// What changed since, in order. Not empty.
    Changes(Vec<Change>),
}

/// A change of the inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// An object is new, or visible again; what was known of it is replaced.
    Entered(Object),
    /// Properties of an object are different.
    Modified {
        /// Which object.
        reference: MoRef,
        /// Properties and what they are now; none is not set any more.
        values: BTreeMap<Arc<str>, Option<Element>>,
        /// Properties that cannot be read any more, and why.
        missing: BTreeMap<Arc<str>, Fault>,
    },
    /// An object is gone, or not visible any more.
    Left(MoRef),
}

impl Inventory {
    pub(crate) fn new(vim: Vim, container: MoRef, kind: &str, paths: &[&str]) -> Self {
        let paths = crate::client::shared(paths);
        Self { vim, container, kind: kind.to_owned(), paths, followed: None }
    }

    /// Waits until there is something new. After an error the next call asks anew, and tells
    /// everything again; when to call again is the caller's choice. A future that is dropped loses
    /// nothing: the next call tells everything again.
    pub async fn next(&mut self) -> Result<News, VimError> {
        match self.news().await {
            // The session is over, which says nothing about the server: asked anew at once.
            Err(error) if error.session_ended() => self.news().await,
            news => news,
        }
    }

    /// Ends what is kept in the server. Best effort: it ends with the session at the latest.
    pub async fn close(mut self) {
        self.end().await;
    }

    async fn news(&mut self) -> Result<News, VimError> {
        if self.followed.as_ref().is_some_and(|followed| !followed.collector.is_of_use()) {
            self.end().await;
        }
        let followed = match &mut self.followed {
            Some(followed) => followed,
            None => {
                let followed = self.follow().await?;
                self.followed.insert(followed)
            }
        };
        let news = followed.news().await;
        if let Err(error) = &news {
            followed.collector.failed(error);
        }
        news
    }

    async fn follow(&self) -> Result<Followed, VimError> {
        let seat = self.vim.seat().await?;
        let made = async {
            let view = seat.container_view(&self.container, std::iter::once(&*self.kind)).await?;
            let of = Of::View { view: &view, kind: &self.kind };
            let collector = Collector::new(&seat, of, &self.paths).await?;
            Ok(Followed { collector, seat: seat.clone(), view, told: false })
        };
        let made = made.await;
        if made.as_ref().is_err_and(VimError::session_ended) {
            seat.ended();
        }
        made
    }

    async fn end(&mut self) {
        if let Some(followed) = self.followed.take() {
            followed.collector.destroy().await;
            followed.seat.destroy_view(&followed.view).await;
        }
    }
}

impl Followed {
    async fn news(&mut self) -> Result<News, VimError> {
        if self.told {
            loop {
                let changes: Vec<Change> = self.updates().await?.into_iter().map(change).collect();
                if !changes.is_empty() {
                    return Ok(News::Changes(changes));
                }
            }
        }
        let mut objects = BTreeMap::new();
        for update in self.updates().await? {
            match change(update) {
                Change::Entered(object) => drop(objects.insert(object.reference.clone(), object)),
                Change::Left(reference) => drop(objects.remove(&reference)),
                Change::Modified { reference, values, missing } => {
                    if let Some(object) = objects.get_mut(&reference) {
                        object.change(values, missing);
                    }
                }
            }
        }
        self.told = true;
        Ok(News::All(objects.into_values().collect()))
    }

    /// All updates of one state, which may come in several answers.
    async fn updates(&mut self) -> Result<Vec<ObjectUpdate>, VimError> {
        let mut all = Vec::new();
        while let Some(Updates { objects, truncated, .. }) = self.collector.wait().await? {
            all.extend(objects);
            if !truncated {
                break;
            }
        }
        Ok(all)
    }
}

fn change(update: ObjectUpdate) -> Change {
    let ObjectUpdate { reference, kind, values, missing } = update;
    match kind {
        UpdateKind::Leave => Change::Left(reference),
        UpdateKind::Modify => Change::Modified { reference, values, missing },
        UpdateKind::Enter => {
            let set = |(path, value): (Arc<str>, Option<Element>)| Some((path, value?));
            let values = values.into_iter().filter_map(set).collect();
            Change::Entered(Object { reference, values, missing })
        }
    }
}
