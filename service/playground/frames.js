/** The pictures between the steps of an explanation: the symbols there are, and what the last step did. */

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
  for (const merge of piece.merges) {
    const [left, right] = symbols.slice(merge.at, merge.at + 2);
    symbols.splice(merge.at, 2, merge.token);
    const why = merge.rank === undefined ? `score ${number.format(merge.score)}` : `rank ${number.format(merge.rank)}`;
    frames.push({
      symbols: symbols.map((token, index) => shown(token, index === merge.at)),
      told: `${textOf(left)} + ${textOf(right)} → ${textOf(merge.token)}, ${why}`,
    });
  }
  return frames;
}

function matches(piece) {
  const characters = [...piece.text];
  const rest = (from) => characters.slice(from).map((text) => ({ text: visible(text), id: null, isOpen: true }));
  const frames = [{ symbols: rest(0), told: "the longest entry that the word begins with is looked for" }];
  piece.matches.forEach((match, index) => {
    const found = piece.matches.slice(0, index + 1).map(({ token }, place) => shown(token, place === index));
    frames.push({ symbols: [...found, ...rest(match.end)], told: `${visible(match.token.text)} is the longest entry at character ${match.start}` });
  });
  if (piece.unknown) frames.push({ symbols: [{ text: visible(piece.text), id: piece.ids[0], isNew: true }], told: "no entry goes on: the whole word is unknown" });
  return frames;
}

function lattice(piece) {
  const characters = [...piece.text];
  const rest = (from) => characters.slice(from).map((text) => ({ text: visible(text), id: null, isOpen: true }));
  const frames = [{ symbols: rest(0), told: `${piece.edges.length} entries lie in this piece; the way with the highest sum is looked for` }];
  piece.path.forEach((chosen, index) => {
    const found = piece.path.slice(0, index + 1).map((edge, place) => {
      const { start, end, token } = piece.edges[edge];
      return token ? shown(token, place === index) : { text: visible(characters.slice(start, end).join("")), id: null, isNew: place === index };
    });
    const { end, score } = piece.edges[chosen];
    frames.push({ symbols: [...found, ...rest(end)], told: `score ${number.format(score)}; the best sum up to character ${end} is ${number.format(piece.best[end])}` });
  });
  return frames;
}
