//! Variables of a template as vLLM sets them: the caller's, and those that other fields of a request stand for.

use std::borrow::Cow;

/// The efforts of reasoning that there are.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The fields of a request that set variables.
#[derive(Debug, Clone, Copy, Default)]
pub struct VllmVariables<'a> {
    /// The caller's own, as JSON.
    pub sent: Option<&'a str>,
    /// A variable, and `enable_thinking` if the caller does not set that.
    pub effort: Option<&'a str>,
}

impl<'a> VllmVariables<'a> {
    /// The caller's alone.
    pub fn unchanged(self) -> Option<Cow<'a, str>> {
        self.sent.map(Cow::Borrowed)
    }

    /// All variables as JSON, of equal names the last; `None` if the service has to find them.
    #[expect(clippy::option_option, reason = "there may be none")]
    pub fn json(self) -> Option<Option<Cow<'a, str>>> {
        let Some(effort) = self.effort else { return Some(self.unchanged()) };
        EFFORTS.contains(&effort).then_some(())?;
        let sent = self.sent.unwrap_or("{}").strip_suffix('}')?;
        // Whether the caller sets it is not known here if the name is there, or may be there with an escape.
        if sent.contains("enable_thinking") || sent.contains('\\') {
            return None;
        }
        let comma = if sent.trim_end() == "{" { "" } else { "," };
        let thinks = effort != "none";
        Some(Some(Cow::Owned(format!(r#"{sent}{comma}"reasoning_effort":"{effort}","enable_thinking":{thinks}}}"#))))
    }
}
