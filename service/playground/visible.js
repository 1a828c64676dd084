/**
 * Make visible what has no shape of its own: white space, controls, marks that change the direction of text. What looks
 * like such a mark in a text is shown by its number, so that a mark never stands for a character that looks like it.
 */

const NAMED = { " ": "␣", "\n": "↵", "\r": "␍", "\t": "⇥", "\u00a0": "⍽" };
const SPACE = /(?!\u00a0)\p{Zs}/u;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zs}\p{Zl}\p{Zp}\p{Cs}\p{DI}↵⇥⍽◌\u2400-\u2426]/u;
/** These hold emoji together, or choose the form of the character before. */
const JOINER = /[\u200d\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;
const RIGHT_TO_LEFT = /^\P{L}*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Return parts `[text, isMark]`: marks stand for one character each. */
export function visibleParts(text, showSpaces = true) {
  const parts = [];
  let plain = "";
  const mark = (shown) => {
    if (plain) parts.push([plain, false]);
    plain = "";
    parts.push([shown, true]);
  };
  for (const character of text) {
    if (!showSpaces && SPACE.test(character)) plain += character;
    else if (NAMED[character]) mark(NAMED[character]);
    else if (plain && JOINER.test(character)) plain += character;
    else if (HIDDEN.test(character)) mark(hidden(character));
    // Without a letter before it a combining mark would be put on what stands beside.
    else plain += !plain && /\p{M}/u.test(character) ? `◌${character}` : character;
  }
  if (plain) parts.push([plain, false]);
  return parts;
}

function hidden(character) {
  const code = character.codePointAt(0);
  if (code < 32) return String.fromCodePoint(0x2400 + code);
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

export const visible = (text) => visibleParts(text).map(([shown]) => shown).join("");

/** The direction that a text is read in, by its first letter. */
export const directionOf = (text) => (RIGHT_TO_LEFT.test(text) ? "rtl" : "ltr");
