//! Data files in, labelled tables out.
