//! What came out of a search, as an HTML page.

use m3svm::Model;
use m3svm_report::{Report, convergence_section, model_sections, quality_sections, search_sections};

use super::Tuned;
use crate::{quality, report};

impl Tuned<'_> {
    pub(super) fn page(&self, title: &str, model: &Model) -> Report {
        let Self { search, found, nested, unseen, steps, seconds, .. } = self;
        let mut facts = report::settings(model);
        facts.extend([("folds", self.folds()), ("seed", search.spec.seed.to_string()), ("work", self.work(*seconds))]);
        let report = Report::new(title).made_by(&report::made_by()).section("Settings").facts(&facts);
        let report = search_sections(report, search, found, nested.as_ref());
        let report = model_sections(report, model);
        let report = match unseen {
            Some(unseen) => quality_sections(report, model.classes(), &unseen.metrics, "rows left out")
                .facts(&quality::measures(unseen, None))
                .text(
                "Each row is predicted by a model of the folds without it (first repeat), with the chosen setting. Rows that no fold \
                 leaves out, such as the only one of a class, are not counted.",
            ),
            None => report,
        };
        convergence_section(report, model, steps)
    }
}
