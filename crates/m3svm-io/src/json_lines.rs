//! JSON lines: one object per line, whose keys are the names of columns. Types are found out from all lines.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_json::ReaderBuilder;
use arrow_json::reader::infer_json_schema;
use arrow_schema::{ArrowError, DataType, FieldRef, Schema};
use m3svm::memory::Meter;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::batches::Plan;
use crate::compression::Input;
use crate::error::Problem;
use crate::options::{Format, ReadOptions};
use crate::table::Table;
use crate::value::days;

/// Rows that are decoded at once.
const BATCH: usize = 1024;

pub(crate) fn read(input: Input, options: &ReadOptions, meter: &mut Meter) -> Result<Table, Problem> {
    let broken = |e: ArrowError| Problem::Broken { format: Format::JsonLines, what: e.to_string() };
    let bytes = input.decoded(options.encoding)?.bytes(meter)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let (schema, rows) = infer_json_schema(bytes, None).map_err(broken)?;
    if rows == 0 {
        return Err(Problem::NoRows);
    }
    let schema = in_order(&schema, bytes);
    let times =
        if options.preparation.is_some() { times(&schema, bytes, options).map_err(broken)? } else { Vec::new() };
    let plan = Plan::with_times(&schema, options, &times)?;
    let schema = schema.project(&plan.projection).map_err(broken)?;
    // A column of numbers and texts is one of texts.
    let builder = ReaderBuilder::new(Arc::new(schema)).with_batch_size(BATCH).with_coerce_primitive(true);
    let reader = builder.build(bytes).map_err(broken)?;
    plan.read(Format::JsonLines, reader, meter)
}

/// Columns of texts all of which are times, for which JSON has no type.
fn times(schema: &Schema, bytes: &[u8], options: &ReadOptions) -> Result<Vec<String>, ArrowError> {
    let texts = |(i, field): (usize, &FieldRef)| (*field.data_type() == DataType::Utf8).then_some(i);
    let texts: Vec<usize> = schema.fields().iter().enumerate().filter_map(texts).collect();
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let schema = Arc::new(schema.project(&texts)?);
    let builder = ReaderBuilder::new(schema.clone()).with_batch_size(BATCH).with_coerce_primitive(true);
    let nothing = |text: &str| options.preparation.as_ref().is_some_and(|p| p.is_missing(text));
    // Texts that were times, and whether any other was there.
    let mut looks = vec![(0, true); texts.len()];
    for batch in builder.build(bytes)? {
        for (look, column) in looks.iter_mut().zip(batch?.columns()).filter(|(look, _)| look.1) {
            let present = column.as_string::<i32>().iter().flatten().filter(|text| !nothing(text));
            for text in present {
                look.0 += 1;
                look.1 &= days(text).is_some();
            }
        }
    }
    let found = schema.fields().iter().zip(looks).filter(|(_, (count, all))| *count > 0 && *all);
    Ok(found.map(|(field, _)| field.name().clone()).collect())
}

/// The columns in the order of the first row: keys are found out in that of the alphabet.
fn in_order(schema: &Schema, bytes: &[u8]) -> Schema {
    let first = serde_json::Deserializer::from_slice(bytes).into_iter::<Keys>().next();
    let keys = first.and_then(Result::ok).map_or_else(Vec::new, |keys| keys.0);
    let places: HashMap<&str, usize> = keys.iter().map(String::as_str).zip(0..).collect();
    let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
    fields.sort_by_key(|field| places.get(field.name().as_str()).copied().unwrap_or(usize::MAX));
    Schema::new(fields)
}

/// The keys of an object, one after the other.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self(Vec::new()))
    }
}

impl<'de> Visitor<'de> for Keys {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some((key, IgnoredAny)) = map.next_entry()? {
            self.0.push(key);
        }
        Ok(self)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use m3svm::Preparation;

    use super::*;
    use crate::read_from;

    fn parse(text: &str) -> Result<Table, String> {
        let options = ReadOptions { preparation: Some(Preparation::default()), ..Default::default() };
        let bytes = std::io::Cursor::new(text.as_bytes().to_vec());
        read_from(bytes, "t.jsonl".as_ref(), &options).map_err(|e| e.to_string())
    }

    #[test]
    fn objects_are_rows() {
        let text = "{\"size\": 1, \"town\": \"Oslo\", \"label\": \"a\"}\n{\"town\": \"Rome\", \"size\": 2.5, \"label\": \"b\"}\n\
                    {\"size\": null, \"label\": \"a\", \"town\": \"Oslo\"}\n";
        let table = parse(text).unwrap();
        assert_eq!(table.labels.clone().unwrap(), ["a", "b", "a"]);
        assert_eq!(table.feature_names.clone().unwrap(), ["size", "size=(missing)", "town=Oslo", "town=Rome"]);
        assert_eq!((table.x.get(1, 0), table.x.get(2, 0), table.x.get(2, 1)), (2.5, 1.75, 1.0));
        let escaped =
            parse("{\"z\\u0061\": 1, \"a\\\"b\": 2, \"label\": \"a\"}\n{\"za\": 2, \"a\\\"b\": 1, \"label\": \"b\"}\n")
                .unwrap();
        assert_eq!(escaped.feature_names.clone().unwrap(), ["za", "a\"b"]);
        let dated = "{\"on\": \"1970-01-11\", \"label\": \"a\"}\n{\"on\": \"NA\", \"label\": \"b\"}\n\
                     {\"on\": \"1970-01-21T12:00:00\", \"label\": \"a\"}\n";
        let table = parse(dated).unwrap();
        assert_eq!(table.feature_names.clone().unwrap(), ["on", "on=(missing)"]);
        assert_eq!([0, 1, 2].map(|i| table.x.get(i, 0)), [10.0, 15.25, 20.5]);
        assert!(parse("{\"size\": 1\n").unwrap_err().contains("JSON lines"));
        let nested = parse("{\"a\": [1, 2], \"label\": \"x\"}\n{\"a\": [], \"label\": \"y\"}\n").unwrap_err();
        assert!(nested.contains("column \"a\" holds List"), "{nested}");
    }
}
