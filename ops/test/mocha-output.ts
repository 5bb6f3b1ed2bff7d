/** What can be read from the output of mocha's `spec` reporter. */

const counted = (outputs: readonly string[], what: 'passing' | 'failing'): number =>
  outputs
    .flatMap((output) => [...output.matchAll(new RegExp(`^ +(\\d+) ${what}\\b`, 'gm'))])
    .reduce((sum, [, count]) => sum + Number(count), 0);

/** "12 passing, 0 failing", of all these runs together. `.ci/run` adds up such lines. */
export const summary = (outputs: readonly string[]): string =>
  `${counted(outputs, 'passing')} passing, ${counted(outputs, 'failing')} failing`;

/** What follows the line "1 failing"; the end of the output where mocha did not come so far. */
export const failures = (output: string): string =>
  /^ +\d+ failing\b[^]*/m.exec(output)?.[0] ?? output.slice(-4_000);

/** Titles of the tests that failed, each with its file as far as its stack names it. */
export const failedTests = (
  output: string,
): readonly { readonly title: string; readonly file: string | null }[] =>
  failures(output)
    .split(/^ {2}(?=\d+\) )/m)
    .slice(1)
    .map((block) => {
      const [, titles = ''] = /^\d+\) ([^]*?):\n(?:\n| {5}\S)/.exec(block) ?? [];
      const [file = null] = /[\w./-]+\.spec\.ts(?=:\d)/.exec(block) ?? [];
      return { title: titles.split(/\n +/).join(' › '), file };
    });
