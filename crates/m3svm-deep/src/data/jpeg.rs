//! Whether a JPEG file is whole. Decoders fill what is missing with grey and say nothing.

/// Whether the bytes of a JPEG file reach the mark of its end; what comes behind it does not count.
pub(super) fn is_whole(bytes: &[u8]) -> bool {
    ends(bytes).is_some()
}

/// Walks from segment to segment: a thumbnail inside one of them has an end mark of its own.
fn ends(bytes: &[u8]) -> Option<()> {
    const END: u8 = 0xd9;
    let mut at = 2;
    loop {
        // Any number of 0xff may stand before a marker.
        while *bytes.get(at)? != 0xff || *bytes.get(at + 1)? == 0xff {
            at += 1;
        }
        let marker = bytes[at + 1];
        at += 2;
        match marker {
            END => return Some(()),
            // Stuffed bytes and restarts inside the pixels, and markers without content.
            0x00 | 0x01 | 0xd0..=0xd8 => {}
            _ => at += usize::from(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?])).max(2),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use image::codecs::jpeg::JpegEncoder;
    use image::{Rgb, RgbImage};

    fn jpeg() -> Vec<u8> {
        let noise = |x: u32, y: u32| Rgb([(x * 37 + y * 11) as u8, (x * y * 7) as u8, (x * 91 + y * 57) as u8]);
        let mut bytes = Vec::new();
        JpegEncoder::new_with_quality(&mut bytes, 90).encode_image(&RgbImage::from_fn(48, 48, noise)).unwrap();
        bytes
    }

    #[test]
    fn only_a_file_with_its_end_is_whole() {
        let whole = jpeg();
        assert!(is_whole(&whole));
        assert!(is_whole(&[&whole[..], b"and a note behind it"].concat()));
        for cut in 0..whole.len() {
            assert!(!is_whole(&whole[..cut]), "{cut} of {}", whole.len());
        }
    }

    #[test]
    fn the_end_of_a_thumbnail_is_not_the_end() {
        let whole = jpeg();
        // An application segment (0xe1) with an end mark inside.
        let with = [&whole[..2], &[0xff, 0xe1, 0, 6, 1, 0xff, 0xd9, 2][..], &whole[2..]].concat();
        assert!(is_whole(&with));
        assert!(!is_whole(&with[..with.len() - 2]));
    }
}
