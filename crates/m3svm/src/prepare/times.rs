//! Parts of dates and times that come round again: a feature for each weekday, month or hour.

use serde::{Deserialize, Serialize};

/// A part of dates and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimePart {
    /// The day of the week.
    Weekday,
    /// The month.
    Month,
    /// The hour of the day.
    Hour,
}

impl TimePart {
    /// All of them, for help texts and tests.
    pub const ALL: [Self; 3] = [Self::Weekday, Self::Month, Self::Hour];

    /// The name users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Weekday => "weekday",
            Self::Month => "month",
            Self::Hour => "hour",
        }
    }

    /// How many values it has.
    pub fn width(self) -> usize {
        match self {
            Self::Weekday => 7,
            Self::Month => 12,
            Self::Hour => 24,
        }
    }

    /// What a value is called.
    pub(super) fn value_name(self, value: usize) -> String {
        const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
        const MONTHS: [&str; 12] = [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ];
        match self {
            Self::Weekday => DAYS[value % 7].into(),
            Self::Month => MONTHS[value % 12].into(),
            Self::Hour => format!("{value}h"),
        }
    }

    /// The value at a time, in days since 1970.
    pub(super) fn of(self, days: f64) -> usize {
        let whole = days.floor();
        match self {
            // 1970 began on a Thursday.
            Self::Weekday => (whole + 3.0).rem_euclid(7.0) as usize,
            Self::Month => month(whole as i64),
            // Half a millisecond, since hours are no exact parts of a day.
            Self::Hour => ((24.0 * (days - whole) + 24.0 * 0.5 / 86_400_000.0) as usize).min(23),
        }
    }
}

/// The month, from 0, of a day since 1970. Years begin in March here, so that leap days come last, and are counted in the 400 years after
/// which the calendar repeats.
fn month(days: i64) -> usize {
    let day = (days.clamp(-(1 << 40), 1 << 40) + 719_468).rem_euclid(146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    // 153 days are five months, of 31 and 30 in turn.
    let from_march = (5 * day_of_year + 2) / 153;
    ((from_march + 2) % 12) as usize
}

#[cfg(test)]
mod tests {
    use arrow_array::temporal_conversions::date32_to_datetime;

    use super::*;

    #[test]
    fn parts_are_those_of_the_calendar() {
        let names: Vec<String> =
            TimePart::ALL.iter().map(|part| part.value_name(part.of(18_718.0 + 13.5 / 24.0))).collect();
        // 1 April 2021 was a Thursday.
        assert_eq!(names, ["Thursday", "April", "13h"]);
        for day in (-200_000..200_000).step_by(13).chain([-1, 0, 58, 59, 60, 789, 790, 11_016, 11_017]) {
            let text = date32_to_datetime(day).map(|date| date.to_string()).unwrap_or_default();
            let month: usize = text.trim_start_matches('-').split('-').nth(1).and_then(|m| m.parse().ok()).unwrap_or(0);
            assert_eq!(TimePart::Month.of(f64::from(day)) + 1, month, "{day}: {text}");
        }
        for hour in 0..24 {
            for day in [0.0, 18_718.0, -3.0] {
                assert_eq!(TimePart::Hour.of(day + f64::from(hour) / 24.0), hour as usize);
            }
        }
        assert_eq!([-1.0, 0.0, 3.0, 4.0].map(|d| TimePart::Weekday.of(d)), [2, 3, 6, 0]);
        for extreme in [f64::MAX, f64::MIN, 1e18, -1e18] {
            TimePart::ALL.iter().for_each(|part| assert!(part.of(extreme) < part.width()));
        }
    }
}
