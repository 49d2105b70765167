//! Instance types of the KWOK provider, built in and from files.
