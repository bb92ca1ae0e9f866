//! Contents of blocks: incompressible bytes, and optional checksums.

use dyno_core::rand::Stream;

/// The smallest block with a checksum, in bytes.
pub(crate) const VALIDATED_MIN: u64 = 64;
/// Offset, file, checksum: the end of a block with a checksum.
const TRAILER: usize = 24;
/// The smallest unit in which storage looks for duplicates, in bytes.
const PIECE: usize = 4096;

/// Fills with random bytes.
pub(crate) fn fill(bytes: &mut [u8], stream: &mut Stream) {
    for word in bytes.chunks_mut(8) {
        let random = stream.next_u64().to_le_bytes();
        word.copy_from_slice(&random[..word.len()]);
    }
}

/// Makes each piece of `bytes`, already random, different from everything written before.
#[inline]
pub(crate) fn renew(bytes: &mut [u8], stream: &mut Stream) {
    for piece in bytes.chunks_mut(PIECE) {
        let random = stream.next_u64().to_le_bytes();
        let len = piece.len().min(8);
        piece[..len].copy_from_slice(&random[..len]);
    }
}

/// Ends each block with its place and a checksum over all of it.
pub(crate) fn seal(bytes: &mut [u8], block: usize, file: u32, offset: u64) {
    for (index, block_bytes) in bytes.chunks_exact_mut(block).enumerate() {
        let at = offset + (index * block) as u64;
        let (data, trailer) = block_bytes.split_at_mut(block - TRAILER);
        trailer[..8].copy_from_slice(&at.to_le_bytes());
        trailer[8..16].copy_from_slice(&u64::from(file).to_le_bytes());
        let sum = checksum(&[data, &trailer[..16]]);
        trailer[16..].copy_from_slice(&sum.to_le_bytes());
    }
}

/// Checks that each block was made by [`seal`] for this place.
pub(crate) fn check(bytes: &[u8], block: usize, file: u32, offset: u64) -> Result<(), String> {
    for (index, block_bytes) in bytes.chunks_exact(block).enumerate() {
        let at = offset + (index * block) as u64;
        let (data, trailer) = block_bytes.split_at(block - TRAILER);
        let number = |from: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&trailer[from..from + 8]);
            u64::from_le_bytes(bytes)
        };
        let place = format!("test_file.{file} at byte {at}");
        if number(16) != checksum(&[data, &trailer[..16]]) {
            return Err(format!(
                "validation failed: the checksum of {place} is wrong; were the files prepared \
                 with --validate and the same --file-block-size?"
            ));
        }
        if (number(0), number(8)) != (at, u64::from(file)) {
            return Err(format!(
                "validation failed: {place} contains the block of test_file.{} at byte {}",
                number(8),
                number(0)
            ));
        }
    }
    Ok(())
}

/// 64 bits that change with any byte: a product and a rotation for each word.
fn checksum(parts: &[&[u8]]) -> u64 {
    let mut sum = 0x9e37_79b9_7f4a_7c15u64;
    for part in parts {
        let words = part.chunks(8).map(|word| {
            let mut bytes = [0; 8];
            bytes[..word.len()].copy_from_slice(word);
            u64::from_le_bytes(bytes)
        });
        for word in words {
            sum = (sum ^ word)
                .wrapping_mul(0xbf58_476d_1ce4_e5b9)
                .rotate_left(29);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed() -> Vec<u8> {
        let mut bytes = vec![0; 3 * 512];
        fill(&mut bytes, &mut Stream::new(1, 0));
        seal(&mut bytes, 512, 7, 1024);
        bytes
    }

    #[test]
    fn a_sealed_block_is_known_again_and_only_in_its_place() {
        let bytes = sealed();
        assert_eq!(check(&bytes, 512, 7, 1024), Ok(()));
        let elsewhere = check(&bytes, 512, 7, 2048).unwrap_err();
        assert!(elsewhere.contains("at byte 1024"), "{elsewhere}");
        assert!(check(&bytes, 512, 8, 1024).is_err());
        assert!(check(&bytes, 256, 7, 1024).is_err());
    }

    #[test]
    fn every_bit_counts() {
        let mut bytes = sealed();
        for bit in (0..bytes.len() * 8).step_by(7) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(check(&bytes, 512, 7, 1024).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn content_does_not_compress_and_is_never_the_same() {
        let mut stream = Stream::new(1, 0);
        let mut bytes = vec![0; 16_384];
        fill(&mut bytes, &mut stream);
        let mut counts = [0u32; 256];
        for byte in &bytes {
            counts[usize::from(*byte)] += 1;
        }
        assert!(counts.iter().all(|count| (20..130).contains(count)));
        let before = bytes.clone();
        renew(&mut bytes, &mut stream);
        for (old, new) in before.chunks(4096).zip(bytes.chunks(4096)) {
            assert_ne!(old, new);
        }
    }
}
