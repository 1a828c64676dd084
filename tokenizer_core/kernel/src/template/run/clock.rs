//! The time of a rendering, which is given to it, and `strftime`.

use crate::template::syntax::failure::{Failure, Result};

/// A local time.
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs, reason = "as in Python's datetime")]
pub struct Clock {
    pub year: i32,
    pub month: u32,
    pub day: u32,
    pub hour: u32,
    pub minute: u32,
    pub second: u32,
    pub microsecond: u32,
    /// From Monday on, which is 0.
    pub weekday: u32,
    /// From 1 on.
    pub day_of_year: u32,
}

const MONTHS: [&str; 12] = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
];
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

impl Clock {
    /// Write the time as the format says.
    pub fn format(&self, format: &str) -> Result<String> {
        let mut text = String::new();
        let mut characters = format.chars();
        while let Some(character) = characters.next() {
            if character != '%' {
                text.push(character);
                continue;
            }
            let mut directive = characters.next();
            let padded = directive != Some('-');
            if !padded {
                directive = characters.next();
            }
            let two = |number: u32| if padded { format!("{number:02}") } else { number.to_string() };
            let month = MONTHS[(self.month.max(1) as usize - 1) % 12];
            let day = DAYS[self.weekday as usize % 7];
            let hour = match self.hour % 12 {
                0 => 12,
                hour => hour,
            };
            text.push_str(&match directive {
                Some('%') => "%".to_owned(),
                Some('Y') => self.year.to_string(),
                Some('y') => two(self.year.rem_euclid(100) as u32),
                Some('m') => two(self.month),
                Some('d') => two(self.day),
                Some('e') => format!("{:2}", self.day),
                Some('H') => two(self.hour),
                Some('I') => two(hour),
                Some('M') => two(self.minute),
                Some('S') => two(self.second),
                Some('f') => format!("{:06}", self.microsecond),
                Some('j') if padded => format!("{:03}", self.day_of_year),
                Some('j') => self.day_of_year.to_string(),
                Some('B') => month.to_owned(),
                Some('b' | 'h') => month[..3].to_owned(),
                Some('A') => day.to_owned(),
                Some('a') => day[..3].to_owned(),
                Some('p') => if self.hour < 12 { "AM" } else { "PM" }.to_owned(),
                Some('u') => (self.weekday + 1).to_string(),
                Some('w') => ((self.weekday + 1) % 7).to_string(),
                Some('F') => format!("{}-{:02}-{:02}", self.year, self.month, self.day),
                Some('T') => format!("{:02}:{:02}:{:02}", self.hour, self.minute, self.second),
                Some('n') => "\n".to_owned(),
                Some('t') => "\t".to_owned(),
                // A local time without a zone has neither a name nor an offset.
                Some('z' | 'Z') => String::new(),
                _ => return Err(Failure::untrackable("formats a date in a way that this engine does not know")),
            });
        }
        Ok(text)
    }
}
