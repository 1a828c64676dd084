/** Make visible what has no shape of its own: white space, controls, marks that change the direction of text. */

const NAMED = { " ": "·", "\n": "↵", "\r": "␍", "\t": "⇥", "\u00a0": "⍽" };
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u00a0\ufeff]/u;

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
    if (character === " " && !showSpaces) plain += " ";
    else if (NAMED[character]) mark(NAMED[character]);
    // Joiners hold emoji together.
    else if (character === "\u200d" && plain) plain += character;
    else if (HIDDEN.test(character)) mark(hidden(character));
    else plain += character;
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
