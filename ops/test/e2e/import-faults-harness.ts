/** Import files with bad rows, for tests. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { ImportedRow, ImportResponse } from '../../../schemas/http/imports.js';
import type { Bench } from './harness.js';

export const tenMegabytes = 'x'.repeat(10_000_000);

/** A bad row of a file, without its line break, and what the message of its outcome has. */
type BadRow = readonly [text: string | Buffer, message: RegExp];

/** The bytes that a naive encoder writes for half of a surrogate pair. */
const loneSurrogate = Buffer.from([0xed, 0xa0, 0x80]);

/** Imports a file. @returns the import at its end, and its rows that were not created */
export const importFile = async (
  bench: Bench,
  query: string,
  body: Buffer,
): Promise<ImportResponse & { readonly bad: readonly ImportedRow[] }> => {
  const { key } = await bench.key('PRO');
  const started = await bench.api(`/v2/imports?${query}`, key, {
    ...{ method: 'POST', body, timeoutMs: 60_000 },
  });
  expect(started.status, started.text).to.equal(202);
  const path = `/v2/imports/${(started.json() as ImportResponse).id}`;
  const read = async (): Promise<ImportResponse> =>
    (await bench.api(path, key)).json() as ImportResponse;
  // Polls less often than `eventually`, because the import needs the CPU.
  let imported = await read();
  for (; imported.status === 'running'; imported = await read()) await sleep(200);
  const bad: ImportedRow[] = [];
  for (const outcome of ['invalid', 'conflict', 'exists']) {
    const { text } = await bench.api(`${path}/rows?outcome=${outcome}`, key);
    const rows = text.split('\n').filter(Boolean);
    bad.push(...rows.map((row) => JSON.parse(row) as ImportedRow));
  }
  return { ...imported, bad };
};

/** Lines with bad ones among them. `first`: the line of the first one. */
export const linesWith = (
  goodLines: readonly string[],
  bad: readonly BadRow[],
  first: number,
): {
  readonly lines: readonly (string | Buffer)[];
  readonly expected: ReadonlyMap<number, RegExp>;
} => {
  const lines: (string | Buffer)[] = [...goodLines];
  const expected = new Map<number, RegExp>();
  const distance = Math.floor(goodLines.length / bad.length);
  for (const [index, [text, message]] of bad.entries()) {
    const at = Math.floor((index + 0.5) * distance);
    lines.splice(at, 0, text);
    expected.set(first + at, message);
  }
  return { lines, expected };
};

export const join = (lines: readonly (string | Buffer)[], end = '\n'): Buffer =>
  Buffer.concat(lines.flatMap((line) => [Buffer.from(line), Buffer.from(end)]));

export const expectBad = (
  { bad, ...imported }: Awaited<ReturnType<typeof importFile>>,
  created: number,
  expected: ReadonlyMap<number, RegExp>,
): void => {
  expect(bad.map(({ row }) => row)).to.deep.equal([...expected.keys()]);
  for (const { row, message } of bad)
    expect(message, `line ${row}`).to.match(expected.get(row) ?? /^$/);
  const { status, rows, created: found, failed } = imported;
  expect({ status, rows, found, failed }).to.deep.equal({
    ...{ status: 'done', rows: created + expected.size, found: created, failed: expected.size },
  });
};

const csvBad: readonly BadRow[] = [
  ['bad-quote,"https://example.com/unclosed', /longer than 100,000 characters/],
  ['bad\0nul,https://example.com/nul', /cannot be stored: U\+0000/],
  [`bad-size,https://example.com/size,${tenMegabytes}`, /longer than 100,000 characters/],
  [
    Buffer.concat([Buffer.from('bad-'), loneSurrogate, Buffer.from(',https://example.com/')]),
    /No link can have this code/,
  ],
  ['bad-text,"https://example.com/"text', /text after a closing quote/],
  ['bad-short', /column|destination|cell/],
];

/** Imports a CSV file with bad rows among good ones, and expects the outcome of each row. */
export const expectCsvFaults = async (bench: Bench, goodRows: number): Promise<void> => {
  const good = Array.from({ length: goodRows }, (_, index) => {
    const title = index === 0 ? 'é' : '';
    return `faults-${index},https://example.com/${index},${title}`;
  });
  const { lines, expected } = linesWith(good, csvBad, 2);
  // The file ends within a quoted cell.
  const cut = Buffer.from('cut,"https://example.com/c');
  const imported = await importFile(
    bench,
    'format=csv',
    Buffer.concat([join(['code,url,title', ...lines]), cut]),
  );
  expectBad(imported, goodRows, new Map([...expected, [lines.length + 2, /not closed/]]));
};
