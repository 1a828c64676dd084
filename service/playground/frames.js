/** The pictures between the steps of an explanation: the symbols there are, what the last step did, and its row. */

import { number } from "./dom.js";
import { visible } from "./visible.js";

const shown = (token, isNew = false) => ({ text: textOf(token), id: token.id, isNew });

/** A token's text, or its bytes where it is no whole character. */
function textOf(token) {
  return token.text.includes("\ufffd") ? token.bytes.toUpperCase().replace(/(..)(?=.)/g, "$1 ") : visible(token.text);
}

export function framesOf(piece) {
  return { merges, matches, lattice }[piece.kind](piece);
}

function merges(piece) {
  const symbols = [...piece.start];
  const frames = [{ symbols: symbols.map((token) => shown(token)), told: `${symbols.length} symbols before the first merge` }];
  if (piece.whole) frames.push({ symbols: [shown(piece.whole, true)], told: "the piece is a token: it is taken whole, without merges" });
  piece.merges.forEach((merge, row) => {
    const [left, right] = symbols.slice(merge.at, merge.at + 2);
    symbols.splice(merge.at, 2, merge.token);
    const why = merge.rank === undefined ? `score ${number.format(merge.score)}` : `rank ${number.format(merge.rank)}`;
    frames.push({
      symbols: symbols.map((token, index) => shown(token, index === merge.at)),
      told: `${textOf(left)} + ${textOf(right)} → ${textOf(merge.token)}, ${why}`, row,
    });
  });
  return frames;
}

function matches(piece) {
  const characters = [...piece.text];
  const rest = (from) => characters.slice(from).map((text) => ({ text: visible(text), id: null, isOpen: true }));
  const frames = [{ symbols: rest(0), told: "the longest entry that the word begins with is looked for" }];
  piece.matches.forEach((match, index) => {
    const found = piece.matches.slice(0, index + 1).map(({ token }, place) => shown(token, place === index));
    frames.push({ symbols: [...found, ...rest(match.end)], row: index, told: `${visible(match.token.text)} is the longest entry at character ${match.start}` });
  });
  if (piece.unknown) frames.push({ symbols: [{ text: visible(piece.text), id: piece.ids[0], isNew: true }], told: "no entry goes on: the whole word is unknown" });
  return frames;
}

/** The best way to each place in turn, from the best ways to the places before. */
function lattice(piece) {
  const characters = [...piece.text];
  const rest = (from) => characters.slice(from).map((text) => ({ text: visible(text), id: null, isOpen: true }));
  const sum = ({ start, score }) => piece.best[start] + score;
  const best = new Map();
  piece.edges.forEach((edge, row) => {
    if (!best.has(edge.end) || sum(edge) > sum(piece.edges[best.get(edge.end)])) best.set(edge.end, row);
  });
  const frames = [{ symbols: rest(0), told: `${piece.edges.length} entries lie in this piece; the way with the highest sum is looked for` }];
  for (let end = 1; end <= characters.length; end++) {
    const way = [];
    for (let at = end; at > 0; at = piece.edges[way[0]].start) way.unshift(best.get(at));
    const found = way.map((row, place) => {
      const { start, end: to, token } = piece.edges[row];
      const isNew = place === way.length - 1;
      return token ? shown(token, isNew) : { text: visible(characters.slice(start, to).join("")), id: null, isNew };
    });
    const [row] = way.slice(-1);
    const others = piece.edges.filter((edge) => edge.end === end).length;
    const { start, score } = piece.edges[row];
    frames.push({
      symbols: [...found, ...rest(end)], row,
      told: `to character ${end}: the best of ${others}, ${number.format(piece.best[start])} before and score ${number.format(score)}, makes ${number.format(piece.best[end])}`,
    });
  }
  return frames;
}
