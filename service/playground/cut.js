/** Where the tokens of a text stand, from their spans in bytes. */

const encoder = new TextEncoder();
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).toUpperCase().padStart(2, "0"));

/**
 * Return the tokens of a text: `id`, `start` and `end` in bytes, `text`, and where a token has half a character,
 * `chips`, its bytes, and `whole`, the characters that it and its neighbours are.
 */
export function cut(text, ids, spans, info) {
  const literals = new Map(Object.entries(info?.special_tokens ?? {}).map(([literal, id]) => [id, literal]));
  const bytes = encoder.encode(text);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  // A byte that goes on with a character begins with the bits 10.
  const inside = (at) => at < bytes.length && (bytes[at] & 0xc0) === 0x80;
  const tokens = ids.map((id, index) => {
    const [start, end] = spans[index];
    const literal = literals.get(id);
    const half = inside(start) || inside(end);
    const own = bytes.subarray(start, end);
    const shown = start === end && literal !== undefined ? literal : half ? "" : decoder.decode(own);
    const unknown = id === info?.unk_id && end > start;
    return { id, start, end, text: shown, special: literal !== undefined, unknown, chips: half ? hex(own) : null, whole: null };
  });
  let first = -1;
  for (let index = 0; index < tokens.length; index++) {
    if (!tokens[index].chips) continue;
    if (first < 0) first = index;
    if (inside(tokens[index].end)) continue;
    const whole = decoder.decode(bytes.subarray(tokens[first].start, tokens[index].end));
    for (let at = first; at <= index; at++) {
      tokens[at].whole = whole;
      tokens[at].opens = at === first;
      tokens[at].closes = at === index;
    }
    first = -1;
  }
  return { tokens, bytes: bytes.length };
}
