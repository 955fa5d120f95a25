//! One HTML file with everything inside: no scripts, no requests, readable in the dark, on a phone, on paper and aloud.

use std::fmt::Write;
use std::path::Path;

use crate::error::Result;
use crate::figure::Figure;
use crate::palette::STYLE;
use crate::text::escaped;

const PAGE_STYLE: &str = include_str!("page.css");
/// What a browser may load on behalf of the page: nothing from anywhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// A table with a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What is in it.
    pub caption: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// How many of the first columns are text; the others are numbers and stand to the right.
    pub text_columns: usize,
    /// The cells. The first of each row names it.
    pub rows: Vec<Vec<String>>,
}

/// A page under construction. Texts are plain: all of them are escaped.
///
/// ```
/// use m3svm_report::{Report, Table};
///
/// let table = Table { caption: "Margins".into(), header: vec!["pair".into()], text_columns: 1, rows: vec![vec!["a < b".into()]] };
/// let page = Report::new("Iris").section("Margins").text("The smallest first.").table(table).to_html();
/// assert!(page.contains("a &lt; b"));
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    title: String,
    sections: Vec<String>,
    body: String,
    /// How the page came about.
    made_by: Option<String>,
}

impl Report {
    /// A page with nothing but a title.
    pub fn new(title: &str) -> Self {
        Self { title: title.into(), sections: Vec::new(), body: String::new(), made_by: None }
    }

    /// Says at the end how the page came about: the command and the date.
    pub fn made_by(self, what: &str) -> Self {
        Self { made_by: Some(what.into()), ..self }
    }

    /// Begins a section; what is added next belongs to it.
    pub fn section(mut self, heading: &str) -> Self {
        if !self.sections.is_empty() {
            self.body += "</section>\n";
        }
        self.sections.push(heading.into());
        let n = self.sections.len();
        self.add(format_args!("<section aria-labelledby=\"s{n}\">\n<h2 id=\"s{n}\">{}</h2>\n", escaped(heading)))
    }

    /// Adds a paragraph.
    pub fn text(self, text: &str) -> Self {
        self.add(format_args!("<p>{}</p>\n", escaped(text)))
    }

    /// Adds names with their values.
    pub fn facts<N: AsRef<str>, V: AsRef<str>>(self, facts: &[(N, V)]) -> Self {
        let lines = facts
            .iter()
            .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name.as_ref()), escaped(value.as_ref())));
        let lines: String = lines.collect();
        self.add(format_args!("<dl>\n{lines}</dl>\n"))
    }

    /// Adds a figure; its title becomes the caption.
    pub fn figure(self, figure: &Figure) -> Self {
        let (caption, svg) = (escaped(figure.title()), figure.to_inline());
        self.add(format_args!(
            "<figure>\n<figcaption>{caption}</figcaption>\n<div class=\"scroll\">\n{svg}</div>\n</figure>\n"
        ))
    }

    /// Adds a table.
    pub fn table(self, table: Table) -> Self {
        let class = |j: usize| if j < table.text_columns { r#" class="text""# } else { "" };
        let head = table.header.iter().enumerate();
        let head: String =
            head.map(|(j, name)| format!("<th scope=\"col\"{}>{}</th>", class(j), escaped(name))).collect();
        let mut rows = String::new();
        for row in &table.rows {
            rows += "<tr>";
            for (j, cell) in row.iter().enumerate() {
                let (tag, scope) = if j == 0 { ("th", r#" scope="row""#) } else { ("td", "") };
                // Writing to a string cannot fail.
                let _ = write!(rows, "<{tag}{scope}{}>{}</{tag}>", class(j), escaped(cell));
            }
            rows += "</tr>\n";
        }
        let caption = escaped(&table.caption);
        // Wide tables scroll by themselves, also with the keyboard.
        self.add(format_args!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\n<table>\n<caption>{caption}</caption>\n\
             <thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
        ))
    }

    /// The whole page.
    pub fn to_html(&self) -> String {
        let title = escaped(&self.title);
        let links = self.sections.iter().enumerate();
        let links: String =
            links.map(|(i, name)| format!("<li><a href=\"#s{}\">{}</a></li>\n", i + 1, escaped(name))).collect();
        let nav = match self.sections.len() {
            0..=2 => String::new(),
            _ => format!("<nav aria-label=\"Contents\">\n<ul>\n{links}</ul>\n</nav>\n"),
        };
        let made_by = self.made_by.as_ref().map(|what| format!(" {}", escaped(what))).unwrap_or_default();
        let end = if self.sections.is_empty() { "" } else { "</section>\n" };
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n\
             <title>{title}</title>\n<style>\n{STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n{nav}</header>\n\
             <main>\n{}{end}</main>\n<footer>Written by m3svm {}.{made_by}</footer>\n</body>\n</html>\n",
            self.body,
            env!("CARGO_PKG_VERSION")
        )
    }

    /// Writes the page in one step: until all of it is on disk, an old file stays.
    pub fn write(&self, path: &Path) -> Result<()> {
        Ok(m3svm::write_file(path, |out| out.write_all(self.to_html().as_bytes()))?)
    }

    /// The same; where the file cannot be written after all, the page is kept where temporary files are, and the error says where.
    pub fn write_or_keep(&self, path: &Path) -> Result<()> {
        Ok(m3svm::write_or_keep(path, self.to_html().as_bytes())?)
    }

    fn add(mut self, html: std::fmt::Arguments<'_>) -> Self {
        // Writing to a string cannot fail.
        let _ = self.body.write_fmt(html);
        self
    }
}
