//! Framing: a type byte, a length of four bytes (which includes itself), the body. All numbers are
//! big-endian. (PostgreSQL documentation, "Message Formats".)

/// The longest message in either direction: the server's own limit.
pub(super) const MESSAGE_LEN_MAX: usize = 1 << 30;

/// The longest message of a server that has not authenticated itself. Error texts are the longest;
/// libpq allows them 30,000 bytes.
pub(super) const GREETING_LEN_MAX: usize = 64 * 1024;

/// A protocol violation, as the end of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

/// One complete message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message<'a> {
    pub(super) tag: u8,
    pub(super) body: &'a [u8],
}

impl Message<'_> {
    /// Its length on the wire.
    #[inline]
    pub(super) fn wire_len(&self) -> usize {
        self.body.len() + 5
    }
}

/// The message at the front of `input`; `None` if it is incomplete.
#[inline]
pub(super) fn next_message(input: &[u8], len_max: usize) -> Result<Option<Message<'_>>, Malformed> {
    let Some((header, rest)) = input.split_first_chunk::<5>() else {
        return Ok(None);
    };
    let [tag, length @ ..] = *header;
    // The length includes its own four bytes. A negative one becomes enormous here.
    let length = (u32::from_be_bytes(length) as usize).wrapping_sub(4);
    if length > len_max {
        return Err(Malformed("a message has an impossible length"));
    }
    Ok(rest.get(..length).map(|body| Message { tag, body }))
}

/// Appends a message whose body `write` appends.
pub(super) fn message(output: &mut Vec<u8>, tag: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let start = output.len();
    output.extend_from_slice(&[tag, 0, 0, 0, 0]);
    write(output);
    patch_length(output, start + 1);
}

/// Writes at `at` the number of bytes from there to the end.
#[inline]
pub(super) fn patch_length(output: &mut [u8], at: usize) {
    let length = (output.len() - at) as u32;
    if let Some(slot) = output.get_mut(at..at + 4) {
        slot.copy_from_slice(&length.to_be_bytes());
    }
}

/// Appends a NUL-terminated text.
pub(super) fn put_text(output: &mut Vec<u8>, text: &[u8]) {
    output.extend_from_slice(text);
    output.push(0);
}

/// Reads a message's body from the front; reading past its end is an error.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

const SHORT: Malformed = Malformed("a message is too short for its content");

impl<'a> Reader<'a> {
    #[inline]
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = rest;
        Ok(head)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*head)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    #[inline]
    pub(super) fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    #[inline]
    pub(super) fn i32(&mut self) -> Result<i32, Malformed> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// Reads a NUL-terminated text.
    pub(super) fn text(&mut self) -> Result<&'a [u8], Malformed> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let end = end.ok_or(Malformed("a text in a message is not terminated"))?;
        let text = self.bytes(end)?;
        self.0 = &self.0[1..];
        Ok(text)
    }

    /// The next field of a row: `None` for NULL.
    #[inline]
    pub(super) fn field(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        match self.i32()? {
            -1 => Ok(None),
            // A length under -1 becomes enormous here and runs out of the body.
            length => self.bytes(length as u32 as usize).map(Some),
        }
    }

    #[inline]
    pub(super) fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(Malformed("a message is longer than its content"))
    }
}
