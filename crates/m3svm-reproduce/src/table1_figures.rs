//! The fair half of Table 1 as figures, one per data set.

use m3svm_report::{Axis, Measured, PointChart};

use crate::error::Result;
use crate::output::Output;
use crate::sets::title;
use crate::table1::Row;

pub(crate) fn write(output: &Output, rows: &[Row]) -> Result<()> {
    for row in rows {
        let Some(fair) = &row.fair else { continue };
        let points = fair.judged.iter().map(|it| Measured {
            name: title(&it.name),
            value: it.mean,
            deviation: Some(it.sd),
            says: format!("{:.3} ± {:.3}", it.mean, it.sd),
        });
        let chart = PointChart {
            title: format!("{}: accuracy over {} × {} outer folds", row.paper.set.name, fair.repeats, fair.folds),
            axis: Axis::new("test accuracy, mean ± standard deviation over folds"),
            points: points.collect(),
        };
        output.figure(&format!("table1-{}", row.paper.set.key()), &chart.figure())?;
    }
    Ok(())
}
