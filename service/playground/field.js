/**
 * Text fields for any text. A browser takes minutes to lay out a letter with a hundred thousand combining marks, in which
 * the page stands still, so a field shows only the first of many marks; the whole text is held beside it.
 */

import { h } from "./dom.js";

const MARKS = 100;
const MANY = new RegExp(`(\\p{M}{${MARKS}})\\p{M}+`, "u");
const ALL = new RegExp(MANY, "gu");
const held = new WeakMap();

/** Let a field hold any text; to be called before others listen to its input. */
export function guard(field) {
  const note = h("p", { class: "hint", role: "status" });
  field.after(note);
  field.addEventListener("beforeinput", (event) => {
    const data = event.data ?? event.dataTransfer?.getData("text/plain");
    if (!data || !MANY.test(data)) return;
    // Put in by the browser, it would be laid out before anyone hears of it.
    event.preventDefault();
    const { value, selectionStart, selectionEnd } = field;
    put(field, value.slice(0, selectionStart) + data + value.slice(selectionEnd));
    field.dispatchEvent(new Event("input"));
  });
  field.addEventListener("input", () => {
    if (MANY.test(field.value)) put(field, field.value);
    note.textContent = textOf(field) === field.value ? "" : `More than ${MARKS} marks on one letter are left out of this field, not of the text.`;
  });
}

/** What of a text can be laid out. */
export const drawable = (text) => text.replace(ALL, "$1…");

/** Set a field's text. */
export function put(field, text) {
  field.value = drawable(text);
  held.set(field, { shown: field.value, text });
}

/** The text of a field: what it shows, or what it was given and could not show. */
export function textOf(field) {
  const { shown, text } = held.get(field) ?? {};
  return shown === field.value ? text : field.value;
}
