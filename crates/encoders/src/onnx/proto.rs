//! The part of protocol buffers that writing an ONNX file needs: messages as bytes, field by field
//! (<https://protobuf.dev/programming-guides/encoding/>). Field numbers are those of `onnx.proto` (IR version 8).

/// A message under construction.
#[derive(Debug, Clone, Default)]
pub(super) struct Message(Vec<u8>);

/// How a field's value is laid out.
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Bytes = 2,
    Fixed32 = 5,
}

impl Message {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn raw_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn tag(&mut self, field: u32, wire: Wire) {
        self.raw_varint(u64::from(field << 3 | wire as u32));
    }

    /// A whole number; negative ones as two's complement.
    pub(super) fn int(mut self, field: u32, value: i64) -> Self {
        self.tag(field, Wire::Varint);
        self.raw_varint(value.cast_unsigned());
        self
    }

    pub(super) fn float(mut self, field: u32, value: f32) -> Self {
        self.tag(field, Wire::Fixed32);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        self.bytes_to_come(field, value.len() as u64);
        self.0.extend(value);
        self
    }

    pub(super) fn text(self, field: u32, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    pub(super) fn message(self, field: u32, value: &Message) -> Self {
        self.bytes(field, &value.0)
    }

    /// The fields of `other` after these.
    pub(super) fn append(mut self, other: &Message) -> Self {
        self.0.extend(&other.0);
        self
    }

    /// The beginning of a field whose `length` bytes are written to the file right after this message.
    pub(super) fn bytes_to_come(&mut self, field: u32, length: u64) {
        self.tag(field, Wire::Bytes);
        self.raw_varint(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the encoding guide.
    #[test]
    fn bytes_are_those_of_the_specification() {
        assert_eq!(Message::new().int(1, 150).as_bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::new().text(2, "testing").as_bytes(), b"\x12\x07testing");
        let inner = Message::new().int(1, 150);
        assert_eq!(Message::new().message(3, &inner).as_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(
            Message::new().int(1, -2).as_bytes(),
            [0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]
        );
        assert_eq!(Message::new().float(2, 1.0).as_bytes(), [0x15, 0x00, 0x00, 0x80, 0x3f]);
        // A field number above 15 takes two bytes of tag.
        assert_eq!(Message::new().int(20, 7).as_bytes(), [0xa0, 0x01, 0x07]);
    }
}
