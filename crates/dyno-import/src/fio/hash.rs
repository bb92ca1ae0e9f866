//! The identity of a group in fio's JSON.

use super::Group;
use super::document::{Document, Job};
use crate::identity::LogHash;

impl Group<'_> {
    /// The hash of this group, and its hashes in earlier documents.
    pub(super) fn hash(&self) -> LogHash {
        let of = |document: &Document, jobs: &[&Job]| {
            let mut hash = LogHash::default();
            let text = format!("{:?}", (self.id, document.timestamp_ms, jobs));
            hash.update(text.as_bytes());
            hash
        };
        let mut hash = of(self.last, &self.jobs);
        for document in self.documents {
            let own = |job: &&Job| job.groupid == self.id && job.ios() > 0;
            let jobs: Vec<&Job> = document.jobs.iter().filter(own).collect();
            hash.grew_from(&of(document, &jobs));
        }
        hash
    }
}
