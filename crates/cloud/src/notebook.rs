//! Records that a provider stores on the claim before it continues a creation.
//!
//! Some clouds cannot mark an instance in the call that makes it. Their providers write the id that
//! they are about to use on the claim first. A process that starts after a kill finds it in
//! [`Order::kept`](crate::order::Order::kept).

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use joiner_core::label::Labels;

use crate::CloudError;

/// Writes annotations on one claim.
#[async_trait]
pub trait ClaimAnnotations: Send + Sync {
    /// Writes them, and returns once they are stored.
    async fn write(&self, annotations: Labels) -> Result<(), CloudError>;
}

/// The notebook of one claim's creation. Clones are the same.
#[derive(Clone, Default)]
pub struct Notebook(Option<Arc<dyn ClaimAnnotations>>);

impl Notebook {
    /// A notebook whose entries go to these annotations.
    pub fn new(annotations: Arc<dyn ClaimAnnotations>) -> Self {
        Self(Some(annotations))
    }

    /// Writes annotations on the claim, and returns once they are stored. After an error it is
    /// unknown whether they are stored: the creation ends there and is repeated.
    pub async fn keep(&self, annotations: Labels) -> Result<(), CloudError> {
        match &self.0 {
            Some(own) => own.write(annotations).await,
            None => Err(CloudError::Unknown(
                "this order has no notebook, so nothing can be kept for its claim".to_owned(),
            )),
        }
    }
}

impl fmt::Debug for Notebook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Notebook" } else { "no notebook" })
    }
}

/// Two notebooks are equal if they write to the same annotations.
impl PartialEq for Notebook {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            _ => false,
        }
    }
}
