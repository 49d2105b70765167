//! From objects to the planner's words.
