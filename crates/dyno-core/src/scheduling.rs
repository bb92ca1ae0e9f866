//! How long Linux lets a thread run before another one gets the CPU.
//!
//! A thread that has begun its slice may finish it (1.5 ms and more) before a thread that wakes up
//! runs. Where Dyno has a single CPU, an event that is due therefore waits for threads that merge,
//! record or observe. With slices of a tenth of a millisecond, it waits for at most one of those.
//! Kernels before 6.12 have the same slices for all threads, and ignore the request.

/// The shortest slice that Linux allows, in nanoseconds.
const SHORT_NS: u64 = 100_000;

/// Gives the calling thread, and threads that it starts later, the shortest slices, so that workers
/// do not wait for it. The priority stays the same.
pub fn yield_quickly() {
    set_slice(SHORT_NS);
}

/// Gives the calling thread the system's usual slices.
pub fn usual_slices() {
    set_slice(0);
}

/// A refusal only costs precision.
fn set_slice(slice_ns: u64) {
    // SAFETY: system calls about the calling thread. All-zero is a valid `sched_attr`, and the
    // kernel reads and writes no more than `size` bytes of it.
    unsafe {
        let mut attributes: libc::sched_attr = std::mem::zeroed();
        let size = size_of::<libc::sched_attr>() as u32;
        let read = libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0);
        if read != 0 {
            return;
        }
        // Other policies have no slices, and a runtime means something else there.
        let (other, batch) = (libc::SCHED_OTHER as u32, libc::SCHED_BATCH as u32);
        if attributes.sched_policy != other && attributes.sched_policy != batch {
            return;
        }
        attributes.size = size;
        attributes.sched_runtime = slice_ns;
        libc::syscall(libc::SYS_sched_setattr, 0, &raw mut attributes, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_priority_stays_the_same() {
        let thread = std::thread::spawn(|| {
            // SAFETY: it has no preconditions.
            let nice = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
            let before = nice();
            yield_quickly();
            assert_eq!(nice(), before);
            usual_slices();
            assert_eq!(nice(), before);
        });
        thread.join().unwrap();
    }
}
