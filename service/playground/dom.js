/** Elements from values. Text goes in as text nodes alone, so nothing that a caller writes is ever markup. */

export const byId = (id) => document.getElementById(id);

/** Make an element; a property with a capital or a dash-less name that the element has is set, others are attributes. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Show a message, or nothing. */
export function tell(element, message) {
  element.textContent = message ?? "";
  element.hidden = !message;
}

/** Say an error as the server told it, with its place. */
export function said(error) {
  return error.code ? `${error.message}${error.path ? ` (${error.path})` : ""}` : String(error.message ?? error);
}

/** Copy a text. Browsers give the clipboard's interface to secure pages alone, which one of http elsewhere than here is not. */
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = h("textarea", { "aria-hidden": "true" });
  field.value = text;
  const focused = document.activeElement;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
  focused.focus();
}

/** Numbers with commas and at most two decimals. A format of `Intl` would take as long to make as the rest of the page. */
export const number = {
  format(value) {
    const [whole, decimals] = String(Math.round(value * 100) / 100).split(".");
    return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (decimals ? `.${decimals}` : "");
  },
};
