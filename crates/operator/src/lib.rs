//! From Kubernetes objects to a snapshot.
