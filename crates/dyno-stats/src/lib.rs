//! Pure statistics: no I/O, no clock, no threads.
