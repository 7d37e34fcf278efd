//! Writes the JSON of reports, so that the runtime needs no dependency for it.

use std::fmt::{Display, Write};

#[derive(Default)]
pub(super) struct Json {
    text: String,
    /// Whether the current object or array already has a value.
    needs_comma: bool,
}

impl Json {
    /// Writes the key of the value that follows.
    pub(super) fn key(&mut self, key: &str) -> &mut Self {
        self.string(key);
        self.text.push(':');
        self.needs_comma = false;
        self
    }

    pub(super) fn object(&mut self, write: impl FnOnce(&mut Self)) {
        self.enclosed('{', '}', write);
    }

    pub(super) fn array<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.enclosed('[', ']', |json| {
            for item in items {
                write(json, item);
            }
        });
    }

    fn enclosed(&mut self, open: char, close: char, write: impl FnOnce(&mut Self)) {
        self.begin_value();
        self.text.push(open);
        self.needs_comma = false;
        write(self);
        self.text.push(close);
        self.needs_comma = true;
    }

    /// Writes a number, `true` or `false`.
    pub(super) fn plain(&mut self, value: impl Display) {
        self.begin_value();
        let _ = write!(self.text, "{value}");
    }

    /// Writes a number, or `null` for `None`.
    pub(super) fn number(&mut self, value: Option<u64>) {
        match value {
            Some(value) => self.plain(value),
            None => self.plain("null"),
        }
    }

    /// Writes a string, or `null` for `None`.
    pub(super) fn text(&mut self, value: Option<impl Display>) {
        match value {
            Some(value) => self.string(&value.to_string()),
            None => self.plain("null"),
        }
    }

    pub(super) fn string(&mut self, value: &str) {
        self.begin_value();
        self.text.push('"');
        for c in value.chars() {
            match c {
                '"' | '\\' => self.text.extend(['\\', c]),
                // An answer is one line, and a name must not control a terminal that prints it.
                c if c.is_control() => drop(write!(self.text, "\\u{:04x}", u32::from(c))),
                c => self.text.push(c),
            }
        }
        self.text.push('"');
    }

    fn begin_value(&mut self) {
        if self.needs_comma {
            self.text.push(',');
        }
        self.needs_comma = true;
    }

    /// Returns the text as a line.
    pub(super) fn into_line(mut self) -> Vec<u8> {
        self.text.push('\n');
        self.text.into_bytes()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn another_parser_reads_what_was_written() {
        let hostile: String = (0..=0x2fff)
            .chain(0x1_f600..0x1_f610)
            .filter_map(char::from_u32)
            .collect();
        let mut json = Json::default();
        json.object(|json| {
            json.key("empty")
                .array([0; 0], |json, number| json.plain(number));
            json.key("numbers")
                .array([1, u64::MAX], |json, number| json.plain(number));
            json.key("none").number(None);
            json.key("some").number(Some(7));
            json.key("yes").plain(true);
            json.key("no text").text(None::<String>);
            json.key("nested").array(["a", "b"], |json, key| {
                json.object(|json| json.key(key).string(&hostile));
            });
            json.key("nothing").object(|_| {});
        });
        let line = json.into_line();
        let text = std::str::from_utf8(&line).unwrap();
        assert_eq!(
            text.find(char::is_control),
            Some(text.len() - 1),
            "one line"
        );
        let expected = serde_json::json!({
            "empty": [],
            "numbers": [1, u64::MAX],
            "none": null,
            "some": 7,
            "yes": true,
            "no text": null,
            "nested": [{ "a": hostile }, { "b": hostile }],
            "nothing": {},
        });
        let read: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(read, expected);
    }
}
