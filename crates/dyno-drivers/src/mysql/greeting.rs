//! The server's greeting.

use super::wire::{Malformed, Reader};

/// The server's first packet.
pub(super) struct Greeting {
    pub(super) version: Vec<u8>,
    pub(super) capabilities: u32,
    pub(super) nonce: Vec<u8>,
    pub(super) plugin: Vec<u8>,
}

impl Greeting {
    pub(super) fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != 10 {
            return Err(Malformed("its greeting is not of protocol version 10"));
        }
        let version = reader.nul_bytes()?.to_vec();
        let _connection_id = reader.u32()?;
        let mut nonce = reader.array::<8>()?.to_vec();
        let _filler = reader.u8()?;
        let low = u32::from(reader.u16()?);
        let _collation = reader.u8()?;
        let _status = reader.u16()?;
        let capabilities = low | u32::from(reader.u16()?) << 16;
        let nonce_len = reader.u8()?;
        reader.array::<10>()?;
        // The second part has at least 13 bytes, the last of them zero.
        let second = u64::from(nonce_len).saturating_sub(8).max(13);
        let second = reader.bytes(second.min(reader.rest().len() as u64))?;
        nonce.extend_from_slice(second.strip_suffix(&[0]).unwrap_or(second));
        // Some old servers omit the zero byte after the plugin's name.
        let rest = reader.rest();
        let plugin = rest.strip_suffix(&[0]).unwrap_or(rest).to_vec();
        Ok(Self {
            version,
            capabilities,
            nonce,
            plugin,
        })
    }
}
