//! Variables of a template as vLLM sets them: the caller's, and those that other fields of a request stand for.

use std::borrow::Cow;

/// The efforts of reasoning that there are.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The choices of tools that have a name; a tool's own comes in an object.
const CHOICES: [&str; 3] = ["none", "auto", "required"];

/// What a request says of variables.
#[derive(Debug, Clone, Copy, Default)]
pub struct VllmVariables<'a> {
    /// The caller's own, as JSON.
    pub sent: Option<&'a str>,
    /// A variable, and `enable_thinking` if the caller does not set that.
    pub effort: Option<&'a str>,
    /// A variable if there are tools.
    pub tool_choice: Option<&'a str>,
}

impl<'a> VllmVariables<'a> {
    /// The caller's alone.
    pub fn unchanged(self) -> Option<Cow<'a, str>> {
        self.sent.map(Cow::Borrowed)
    }

    /// All variables as JSON, of equal names the last; `None` if the service has to find them.
    #[expect(clippy::option_option, reason = "there may be none")]
    pub fn json(self, has_tools: bool) -> Option<Option<Cow<'a, str>>> {
        if let Some(choice) = self.tool_choice {
            CHOICES.contains(&choice).then_some(())?;
        }
        if self.effort.is_none() && !has_tools {
            return Some(self.unchanged());
        }
        let sent = self.sent.unwrap_or("{}").strip_suffix('}')?;
        let mut json = sent.to_owned();
        let mut set = |name: &str, value: &str| {
            let comma = if json.trim_end() == "{" { "" } else { "," };
            json.push_str(&format!("{comma}\"{name}\":{value}"));
        };
        if let Some(effort) = self.effort {
            EFFORTS.contains(&effort).then_some(())?;
            set("reasoning_effort", &format!("\"{effort}\""));
            // Whether the caller sets it is not known here if the name is there, or may be there with an escape.
            if sent.contains("enable_thinking") || sent.contains('\\') {
                return None;
            }
            set("enable_thinking", if effort == "none" { "false" } else { "true" });
        }
        if has_tools {
            let choice = self.tool_choice.unwrap_or("auto");
            set("tool_choice", &format!("\"{choice}\""));
        }
        json.push('}');
        Some(Some(Cow::Owned(json)))
    }
}
