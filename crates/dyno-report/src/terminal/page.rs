//! Rows of a label and a body, as wide as the look allows.

use super::look::{Ink, Look, columns, cut, wrap};

/// Where bodies begin: two blanks and a label.
const GUTTER: usize = 16;

/// Text under construction.
pub(super) struct Page {
    look: Look,
    out: String,
}

impl Page {
    pub(super) fn new(look: Look) -> Self {
        Self {
            look,
            out: String::new(),
        }
    }

    /// How wide a body may be.
    pub(super) fn body_width(&self) -> usize {
        self.look.width() - GUTTER
    }

    /// An empty line, unless the last is empty already.
    pub(super) fn blank(&mut self) {
        if self.out.is_empty() || !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// The first line.
    pub(super) fn title(&mut self, text: &str) {
        for line in wrap(&self.look.clean(text), self.look.width()) {
            self.out.push_str(&self.look.paint(Ink::Strong, &line));
            self.out.push('\n');
        }
    }

    /// A row whose body wraps, each of its lines by itself; `ink` colours the label.
    pub(super) fn row(&mut self, label: &str, ink: Ink, body: &str) {
        let mut label = label;
        for paragraph in body.lines() {
            for line in wrap(&self.look.clean(paragraph), self.body_width()) {
                self.line(label, ink, &[(Ink::Plain, &line)]);
                label = "";
            }
        }
    }

    /// A row of a short head and a text that wraps beside it, cut after a few lines.
    pub(super) fn indented(&mut self, label: &str, head: &str, text: &str) {
        const LINES_MAX: usize = 4;
        let width = self.body_width().saturating_sub(columns(head)).max(1);
        let lines = wrap(&self.look.clean(text), width);
        let (mut label, mut head) = (label, head.to_owned());
        for (index, line) in lines.iter().take(LINES_MAX).enumerate() {
            let more = index + 1 == LINES_MAX && lines.len() > LINES_MAX;
            let line = if more {
                format!("{line} …")
            } else {
                line.clone()
            };
            self.line(
                label,
                Ink::Plain,
                &[(Ink::Plain, &head), (Ink::Faint, &line)],
            );
            label = "";
            head = " ".repeat(columns(&head));
        }
    }

    /// A row of pieces that fit the width by construction, or are cut.
    pub(super) fn line(&mut self, label: &str, ink: Ink, pieces: &[(Ink, &str)]) {
        let label = self.look.clean(&cut(&self.look.clean(label), GUTTER - 3));
        let gap = GUTTER - 2 - columns(&label);
        let mut line = format!("  {}{}", self.look.paint(ink, &label), " ".repeat(gap));
        let mut left = self.body_width();
        let last = pieces
            .iter()
            .rposition(|(_, text)| !text.trim_end().is_empty());
        for (i, (ink, text)) in pieces.iter().enumerate() {
            let clean = cut(&self.look.clean(text), left);
            left -= columns(&clean);
            let text = if Some(i) == last {
                clean.trim_end()
            } else {
                clean.as_str()
            };
            if last.is_some_and(|last| i <= last) {
                line.push_str(&self.look.paint(*ink, &self.look.clean(text)));
            }
        }
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    /// The text, without an empty line at its end.
    pub(super) fn finish(self) -> String {
        let mut out = self.out;
        while out.ends_with("\n\n") {
            out.pop();
        }
        out
    }
}
