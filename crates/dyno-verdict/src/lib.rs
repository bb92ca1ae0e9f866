//! The validity checks: from a recorded run to findings and a verdict, and two runs compared.

pub mod fitness;
