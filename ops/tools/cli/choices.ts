import { CliError } from './errors.js';

/** Single-character changes, an exchange of neighbours among them, that make one word of another. */
const distance = (a: string, b: string): number => {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const cell = (row: number, column: number): number => rows[row]?.[column] ?? Infinity;
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j += 1) {
      const changed = cell(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? cell(i - 2, j - 2) + 1 : Infinity;
      row.push(Math.min(cell(i - 1, j) + 1, cell(i, j - 1) + 1, changed, swapped));
    }
  }
  return cell(a.length, b.length);
};

/** The choice that was probably meant, if any is near. */
export const nearest = (word: string, choices: readonly string[]): string | null => {
  const lower = word.toLowerCase();
  const near = choices
    .map((choice) => ({ choice, changes: distance(lower, choice.toLowerCase()) }))
    .filter(({ choice, changes }) => changes <= Math.max(1, Math.floor(choice.length / 3)))
    .sort((a, b) => a.changes - b.changes);
  return near[0]?.choice ?? null;
};

/**
 * A parser of one of a few words, in upper or lower case.
 *
 * @throws CliError that lists the words
 */
export const oneOf =
  <Choice extends string>(what: string, choices: readonly Choice[]) =>
  (word: string): Choice => {
    const found = choices.find((choice) => choice.toLowerCase() === word.toLowerCase());
    if (found !== undefined) return found;
    const meant = nearest(word, choices);
    throw new CliError(
      'USAGE',
      `there is no ${what} ${JSON.stringify(word)}: it is one of ${choices.join(', ')}` +
        (meant === null ? '' : ` (did you mean ${meant}?)`),
    );
  };
