//! The comparison as a whole, without any real part.
