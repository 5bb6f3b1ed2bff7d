import { languageOfSubtag } from '../../schemas/languages.js';

/** One language without a weight, or the first of several: no other one can have a higher weight. */
const preferred = /^[ \t]*([a-z]{2,3})(?:-[a-z\d-]+)?[ \t]*(?:,|$)/i;

/** A range of an `Accept-Language` header (RFC 9110): primary subtag or `*`, and weight. */
const range =
  /^[ \t]*(\*|[a-z]{1,8})(?:-[a-z\d-]+)?[ \t]*(?:;[ \t]*q=([01](?:\.\d{0,3})?)[ \t]*)?$/i;

/** Browsers send a few. */
const maxRanges = 50;

/** The language with the highest weight in an `Accept-Language` header, the first of equal ones; `null`: unknown. */
export const languageOf = (header: string): string | null => {
  const first = preferred.exec(header)?.[1];
  if (first !== undefined) return languageOfSubtag(first.toLowerCase());
  let best = '';
  let highest = 0;
  for (const part of header.split(',', maxRanges)) {
    const [, subtag = '', weight = '1'] = range.exec(part) ?? [];
    if (subtag === '' || Number(weight) <= highest) continue;
    best = subtag;
    highest = Number(weight);
  }
  return languageOfSubtag(best.toLowerCase());
};
