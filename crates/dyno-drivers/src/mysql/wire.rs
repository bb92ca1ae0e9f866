//! Packets and the values inside them.
//!
//! A packet is a 3-byte length, a sequence number and the payload; a message of 2^24 - 1 bytes or
//! more continues in further packets, and the last is shorter. All numbers are little endian.

/// The longest payload of one packet.
pub(crate) const PACKET_MAX: usize = 0xFF_FFFF;

/// The bytes before a packet's payload.
pub(crate) const HEADER: usize = 4;

/// The first byte of an OK packet.
pub(crate) const OK: u8 = 0x00;
/// The first byte of a request for a local file.
pub(crate) const LOCAL_INFILE: u8 = 0xFB;
/// The first byte of an EOF packet, and of the OK packet that replaces it.
pub(crate) const EOF: u8 = 0xFE;
/// The first byte of an ERR packet.
pub(crate) const ERR: u8 = 0xFF;

/// Status flag: a transaction is open.
pub(crate) const IN_TRANSACTION: u16 = 0x0001;
/// Status flag: another result follows.
pub(crate) const MORE_RESULTS: u16 = 0x0008;

/// Capability flags.
pub(crate) mod capability {
    /// The server is not MariaDB, or the client does not use MariaDB's extensions.
    pub(crate) const LONG_PASSWORD: u32 = 1;
    /// UPDATE counts the rows found.
    pub(crate) const FOUND_ROWS: u32 = 1 << 1;
    /// Column flags have two bytes.
    pub(crate) const LONG_FLAG: u32 = 1 << 2;
    /// The handshake names a database.
    pub(crate) const CONNECT_WITH_DB: u32 = 1 << 3;
    /// LOAD DATA LOCAL.
    pub(crate) const LOCAL_FILES: u32 = 1 << 7;
    /// Protocol of version 4.1.
    pub(crate) const PROTOCOL_41: u32 = 1 << 9;
    /// TLS.
    pub(crate) const SSL: u32 = 1 << 11;
    /// OK packets carry the status.
    pub(crate) const TRANSACTIONS: u32 = 1 << 13;
    /// Authentication of version 4.1.
    pub(crate) const SECURE_CONNECTION: u32 = 1 << 15;
    /// Several statements in a request.
    pub(crate) const MULTI_STATEMENTS: u32 = 1 << 16;
    /// Several results to a request.
    pub(crate) const MULTI_RESULTS: u32 = 1 << 17;
    /// Several results to an execution.
    pub(crate) const PS_MULTI_RESULTS: u32 = 1 << 18;
    /// Authentication by named plugins.
    pub(crate) const PLUGIN_AUTH: u32 = 1 << 19;
    /// Attributes of the client in the handshake.
    pub(crate) const CONNECT_ATTRS: u32 = 1 << 20;
    /// Authentication data longer than 255 bytes.
    pub(crate) const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
    /// No EOF packets, except at the end of rows, where an OK packet replaces it.
    pub(crate) const DEPRECATE_EOF: u32 = 1 << 24;
}

/// A protocol violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub &'static str);

/// One packet.
#[derive(Clone, Copy)]
pub(crate) struct Packet<'a> {
    /// The payload.
    pub payload: &'a [u8],
    /// The sequence number.
    pub sequence: u8,
}

/// The packet at the start of `input`, if it is complete.
#[inline]
pub(crate) fn packet(input: &[u8]) -> Option<Packet<'_>> {
    let (header, rest) = input.split_first_chunk::<HEADER>()?;
    let header = u32::from_le_bytes(*header);
    let payload = rest.get(..(header & 0xFF_FFFF) as usize)?;
    Some(Packet {
        payload,
        sequence: (header >> 24) as u8,
    })
}

/// Reserves a packet's header and returns its position for [`finish`].
#[inline]
pub(crate) fn begin(output: &mut Vec<u8>) -> usize {
    let start = output.len();
    output.extend_from_slice(&[0; HEADER]);
    start
}

/// Writes the header of the message that starts at `start`, splitting it if it is too long for one
/// packet. Returns the next sequence number.
#[inline]
pub(crate) fn finish(output: &mut Vec<u8>, start: usize, sequence: u8) -> u8 {
    let len = output.len() - start - HEADER;
    if len >= PACKET_MAX {
        return split(output, start, sequence);
    }
    let header = len as u32 | u32::from(sequence) << 24;
    output[start..start + HEADER].copy_from_slice(&header.to_le_bytes());
    sequence.wrapping_add(1)
}

#[cold]
fn split(output: &mut Vec<u8>, start: usize, mut sequence: u8) -> u8 {
    let payload = output.split_off(start + HEADER);
    output.truncate(start);
    let mut append = |part: &[u8]| {
        let header = part.len() as u32 | u32::from(sequence) << 24;
        output.extend_from_slice(&header.to_le_bytes());
        output.extend_from_slice(part);
        sequence = sequence.wrapping_add(1);
    };
    let mut parts = payload.chunks_exact(PACKET_MAX);
    parts.by_ref().for_each(&mut append);
    // The last packet is shorter than the maximum, possibly empty.
    append(parts.remainder());
    sequence
}

/// Appends a length-encoded integer.
#[inline]
pub(crate) fn put_lenenc(output: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xFA => output.push(bytes[0]),
        0xFB..=0xFFFF => {
            output.push(0xFC);
            output.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xFF_FFFF => {
            output.push(0xFD);
            output.extend_from_slice(&bytes[..3]);
        }
        _ => {
            output.push(0xFE);
            output.extend_from_slice(&bytes);
        }
    }
}

/// Appends a string prefixed with its length.
#[inline]
pub(crate) fn put_lenenc_bytes(output: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(output, bytes.len() as u64);
    output.extend_from_slice(bytes);
}

/// Reads values off the front of a payload; every read is checked.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

const SHORT: Malformed = Malformed("a packet ends in the middle of a value");

impl<'a> Reader<'a> {
    /// A reader of the whole of `payload`.
    #[inline]
    pub(crate) fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    /// The unread bytes.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next byte.
    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes.
    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(*self.array()?))
    }

    /// Four bytes.
    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(*self.array()?))
    }

    /// Eight bytes.
    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(*self.array()?))
    }

    /// `N` bytes.
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Malformed> {
        let (array, rest) = self.rest.split_first_chunk::<N>().ok_or(SHORT)?;
        self.rest = rest;
        Ok(array)
    }

    /// `len` bytes.
    #[inline]
    pub(crate) fn bytes(&mut self, len: u64) -> Result<&'a [u8], Malformed> {
        let len = usize::try_from(len).map_err(|_| SHORT)?;
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(SHORT)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// A length-encoded integer.
    #[inline]
    pub(crate) fn lenenc(&mut self) -> Result<u64, Malformed> {
        match self.u8()? {
            value @ 0..=0xFA => Ok(u64::from(value)),
            0xFC => Ok(u64::from(self.u16()?)),
            0xFD => {
                let [a, b, c] = *self.array()?;
                Ok(u64::from(u32::from_le_bytes([a, b, c, 0])))
            }
            0xFE => self.u64(),
            _ => Err(Malformed("a length begins with an invalid byte")),
        }
    }

    /// A string prefixed with its length.
    #[inline]
    pub(crate) fn lenenc_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.lenenc()?;
        self.bytes(len)
    }

    /// A field of a text row: NULL, or a string prefixed with its length.
    #[inline]
    pub(crate) fn nullable_bytes(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        if self.rest.first() == Some(&0xFB) {
            self.rest = &self.rest[1..];
            return Ok(None);
        }
        self.lenenc_bytes().map(Some)
    }

    /// A zero-terminated string.
    pub(crate) fn nul_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let end = self.rest.iter().position(|&byte| byte == 0).ok_or(SHORT)?;
        let bytes = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_survive_the_round_trip() {
        for value in [
            0,
            1,
            250,
            251,
            0xFFFF,
            0x1_0000,
            PACKET_MAX as u64,
            1 << 24,
            u64::MAX,
        ] {
            let mut bytes = Vec::new();
            put_lenenc(&mut bytes, value);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.lenenc(), Ok(value));
            assert!(reader.rest().is_empty());
            bytes.pop();
            assert!(Reader::new(&bytes).lenenc().is_err());
        }
        assert!(Reader::new(&[0xFB]).lenenc().is_err());
        assert!(Reader::new(&[0xFF]).lenenc().is_err());
    }

    #[test]
    fn long_messages_are_split_and_the_last_packet_is_short() {
        for (len, packets) in [
            (5, 1),
            (PACKET_MAX, 2),
            (PACKET_MAX + 3, 2),
            (2 * PACKET_MAX, 3),
        ] {
            let mut output = vec![9];
            let start = begin(&mut output);
            output.resize(output.len() + len, 7);
            assert_eq!(
                finish(&mut output, start, 254),
                254_u8.wrapping_add(packets)
            );
            let mut rest = &output[1..];
            let mut seen = 0;
            for number in 0..packets {
                let part = packet(rest).unwrap();
                assert_eq!(part.sequence, 254_u8.wrapping_add(number));
                assert_eq!(part.payload.len() == PACKET_MAX, number + 1 < packets);
                seen += part.payload.len();
                rest = &rest[HEADER + part.payload.len()..];
            }
            assert_eq!((seen, rest.len()), (len, 0));
        }
    }
}
