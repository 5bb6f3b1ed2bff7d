const counted = (outputs: readonly string[], what: 'passing' | 'failing'): number =>
  outputs
    .flatMap((output) => [...output.matchAll(new RegExp(`^ +(\\d+) ${what}\\b`, 'gm'))])
    .reduce((sum, [, count]) => sum + Number(count), 0);

/** The sum of these runs: "12 passing, 0 failing". `.ci/run` adds up such lines. */
export const summary = (outputs: readonly string[]): string =>
  `${counted(outputs, 'passing')} passing, ${counted(outputs, 'failing')} failing`;

/** The output from the line "1 failing" on; if it is missing, the end of the output. */
export const failures = (output: string): string =>
  /^ +\d+ failing\b[^]*/m.exec(output)?.[0] ?? output.slice(-4_000);

/** Titles of failed tests, with the file if the stack has it. */
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
