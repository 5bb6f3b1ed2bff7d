import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { projectFile } from '../../platform/files/project-file.js';

describe('end-to-end tests: table of promises and tests', () => {
  const folder = projectFile('ops', 'test', 'e2e');
  const table = readFileSync(path.join(folder, 'README.md'), 'utf8');
  const rows = [...table.matchAll(/^\| (.+?) +\| \[[^\]]+\]\(([^)]+)\) +\| (.+?) +\|$/gm)].map(
    ([, promise = '', file = '', tests = '']) => ({
      promise,
      file,
      titles: [...tests.matchAll(/“(.+?)”/g)].map(([, title = '']) => title),
    }),
  );

  /** Whether the source contains the title as a whole string. */
  const names = (source: string, title: string): boolean =>
    ["'", '`'].some((quote) => source.includes(`${quote}${title}${quote}`));

  it('parses every row', () => {
    const lines = table.split('\n').filter((line) => line.startsWith('|'));
    const heads = lines.filter((line) => /^\| (Promise|-)/.test(line));
    expect(rows).to.have.length(lines.length - heads.length);
    for (const { promise, titles } of rows) expect(titles, promise).not.to.have.length(0);
  });

  it('names only tests that exist', () => {
    const missing = rows.flatMap(({ file, titles }) => {
      const source = readFileSync(path.join(folder, file), 'utf8');
      return titles.filter((title) => !names(source, title)).map((title) => `${file}: ${title}`);
    });
    expect(missing).to.deep.equal([]);
  });
});
