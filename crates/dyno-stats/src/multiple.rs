//! Corrections for multiple comparisons: adjusted p-values in the order of the input.
//!
//! A p-value outside [0, 1] or NaN counts as 1 and is returned as 1.

/// Holm's step-down adjustment, which bounds the chance of any false alarm (Holm, "A Simple
/// Sequentially Rejective Multiple Test Procedure").
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let (p_values, order) = ascending(p_values);
    let count = p_values.len();
    let mut adjusted = vec![1.0; count];
    let mut largest: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        largest = largest.max((p_values[index] * (count - rank) as f64).min(1.0));
        adjusted[index] = largest;
    }
    adjusted
}

/// The corrected p-values, and their indices in ascending order.
fn ascending(p_values: &[f64]) -> (Vec<f64>, Vec<usize>) {
    let proper: Vec<f64> = p_values
        .iter()
        .map(|&p| if (0.0..=1.0).contains(&p) { p } else { 1.0 })
        .collect();
    let mut order: Vec<usize> = (0..proper.len()).collect();
    order.sort_by(|&i, &j| proper[i].total_cmp(&proper[j]));
    (proper, order)
}
