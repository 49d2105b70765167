//! An independent checker of Joiner's plans, and a lower bound on their price.
