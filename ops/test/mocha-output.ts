const counted = (outputs: readonly string[], what: 'passing' | 'failing'): number =>
  outputs
    .flatMap((output) => [...output.matchAll(new RegExp(`^ +(\\d+) ${what}\\b`, 'gm'))])
    .reduce((sum, [, count]) => sum + Number(count), 0);

/** The sum of these runs: "12 passing, 0 failing". */
export const summary = (outputs: readonly string[]): string =>
  `${counted(outputs, 'passing')} passing, ${counted(outputs, 'failing')} failing`;

/** The output from the line "1 failing" on; if it is missing, the end of the output. */
export const failures = (output: string): string =>
  /^ +\d+ failing\b[^]*/m.exec(output)?.[0] ?? output.slice(-4_000);
