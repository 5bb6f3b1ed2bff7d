/** Values of cells, as spreadsheets write them in the language of their user. */
import type { Kind } from './records.js';

/** The words are in lower case, without accents. Spreadsheets write TRUE and FALSE in their language; people write the rest. */
const words = {
  true:
    'true t yes y on x 1 wahr ja vrai oui verdadero si vero verdadeiro sim waar prawda tak sant dogru evet истина да ' +
    'pravda ano igaz igen adevarat sand sann tosi istina cert egia toene tiesa patiess істина αληθης',
  false:
    'false f no n off 0 falsch nein faux non falso nao onwaar nee fałsz nie falskt nej yanlis hayir ложь нет ' +
    'nepravda ne hamis nem fals falsk usann nei epatosi laz vaar netiesa aplams хибність лъжа ψευδης',
};

const flags = new Map(
  Object.entries(words).flatMap(([value, list]) =>
    list.split(' ').map((word) => [word, value === 'true'] as const),
  ),
);

/** The longest text that is normalised, in characters. */
const maxFlag = 20;

export const flagKind: Kind<boolean> = {
  name: 'true or false',
  read: (text) => {
    if (text.length > maxFlag) return null;
    const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
    return flags.get(plain.replaceAll('ı', 'i').replace(/^([01])[.,]0+$/, '$1')) ?? null;
  },
};

/** A whole number of at most 15 digits, also `12.0`, and in groups of three: `1,234`, `1.234`, `1 234`. */
const wholeNumber = /^(\d{1,15}|\d{1,3}(?:([.,'’\s])\d{3})(?:\2\d{3}){0,3})(?:[.,]0{1,2})?$/;

const readNumber = (text: string): number | null => {
  const digits = wholeNumber.exec(text)?.[1];
  return digits === undefined ? null : Number(digits.replaceAll(/\D/g, ''));
};

/** The JSON of an object, a list or a number, or the text itself. What is neither is refused when options are checked. */
export const jsonKind: Kind<unknown> = {
  name: 'JSON',
  read: (text) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return text;
    }
  },
};

export const countKind: Kind<number> = { name: 'a whole number', read: readNumber };

/** The limits of clicks that the ledger can have. */
export const isLimit = (limit: number): boolean =>
  Number.isInteger(limit) && limit >= 1 && limit <= 1_000_000_000;

export const limitKind: Kind<number> = {
  name: 'a whole number from 1 to 1,000,000,000',
  read: (text) => {
    const limit = readNumber(text);
    return limit !== null && isLimit(limit) ? limit : null;
  },
};
