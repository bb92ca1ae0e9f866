//! Claims on blocks, so that a read does not see half of a write.

use std::sync::atomic::{AtomicBool, Ordering};

use super::requests::{Kind, Request};

/// Marks on blocks. Blocks share marks; more marks mean fewer false conflicts.
#[derive(Debug)]
pub(crate) struct Claims {
    marks: Vec<AtomicBool>,
}

/// Marks per request that may be in flight.
const MARKS_EACH: u64 = 64;

impl Claims {
    /// Marks for at most this many requests at a time. With 0, every claim succeeds.
    pub(crate) fn new(requests: u64) -> Self {
        let marks = 0..requests.saturating_mul(MARKS_EACH);
        Self {
            marks: marks.map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Claims the request's block; false if another request uses it.
    #[inline]
    pub(crate) fn take(&self, request: &Request) -> bool {
        match self.mark(request) {
            Some(mark) => !mark.swap(true, Ordering::Acquire),
            None => true,
        }
    }

    /// Releases the claim.
    #[inline]
    pub(crate) fn give_back(&self, request: &Request) {
        if let Some(mark) = self.mark(request) {
            mark.store(false, Ordering::Release);
        }
    }

    fn mark(&self, request: &Request) -> Option<&AtomicBool> {
        if self.marks.is_empty() || request.kind == Kind::Sync {
            return None;
        }
        let place = u64::from(request.file)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add(request.offset / u64::from(request.len.max(1)));
        self.marks.get((place % self.marks.len() as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_one_holder_at_a_time() {
        let claims = Claims::new(2);
        let request = |kind, offset| Request {
            kind,
            file: 1,
            offset,
            len: 512,
        };
        let first = request(Kind::Write, 1024);
        assert!(claims.take(&first));
        assert!(!claims.take(&request(Kind::Read, 1024)));
        assert!(claims.take(&request(Kind::Read, 1536)));
        assert!(claims.take(&request(Kind::Sync, 1024)));
        claims.give_back(&first);
        assert!(claims.take(&request(Kind::Read, 1024)));
        let free = Claims::new(0);
        assert!(free.take(&first) && free.take(&first));
    }
}
