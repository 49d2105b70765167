//! Machines and kubelets.
