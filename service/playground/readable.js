/** JSON for the eye: what fits on a line stays on one, and every number is written as the server wrote it. */

const WIDTH = 88;
const PARTS = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;
const CLOSING = { "[": "]", "{": "}" };

/** Set JSON anew; what is not JSON is returned as it is. */
export function readable(text) {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  // Not what was parsed: a number of 64 bits would lose its last digits.
  const parts = text.match(PARTS);
  let at = 0;

  function value(indent) {
    const first = parts[at++];
    if (!(first in CLOSING)) return first;
    const items = [];
    while (parts[at] !== CLOSING[first]) {
      if (parts[at] === ",") at++;
      let name = "";
      if (first === "{") {
        name = `${parts[at]}: `;
        at += 2;
      }
      items.push(name + value(`${indent}  `));
    }
    at++;
    const line = `${first}${items.join(", ")}${CLOSING[first]}`;
    if (line.length + indent.length <= WIDTH && !line.includes("\n")) return line;
    const all = items.every((item) => /^[\w.+-]+$/.test(item)) ? filled(items, indent) : items.join(`,\n${indent}  `);
    return `${first}\n${indent}  ${all}\n${indent}${CLOSING[first]}`;
  }

  return value("");
}

/** Put as many numbers on each line as it has room for. */
function filled(items, indent) {
  const lines = [""];
  for (const item of items) {
    const line = lines[lines.length - 1];
    if (line && line.length + item.length + indent.length + 4 > WIDTH) lines.push(item);
    else lines[lines.length - 1] = line ? `${line}, ${item}` : item;
  }
  return lines.join(`,\n${indent}  `);
}
