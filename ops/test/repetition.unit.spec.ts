import { expect } from 'chai';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { exactPaths, firstFailures, toRepeat } from './repetition.js';

const batch = (...files: readonly string[]) => ({ room: 'a room', name: files.join(), files });

const output = `

  platform: batcher
    ✔ decides the commands of one tick together
    1) gathers: no longer than it may

  1 passing (26ms)
  2 failing

  1) platform: batcher
       gathers: no longer than it may:

      AssertionError: expected [] to deeply equal [ 1 ]
      + expected - actual

      at Context.<anonymous> (ops/platform/concurrency/batcher.unit.spec.ts:91:29)

  2) platform: batcher
       where one command may be to blame
         "before each" hook for "fails that command alone":
     Error: not done within 100 ms
      at Immediate.<anonymous> (ops/platform/concurrency/deadline.ts:41:21)

`;

describe('test run: repetition of failed processes', () => {
  it('repeats few failed processes', () => {
    const failed = Array.from({ length: 12 }, (_, at) => batch(`dist/ops/local/${at}.int.spec.js`));
    expect(toRepeat(failed)).to.deep.equal(failed);
    expect(toRepeat([...failed, batch('dist/ops/local/12.int.spec.js')])).to.deep.equal([]);
  });

  it('repeats no process with a unit spec, or a spec of exactness or of a race', () => {
    const late = batch('dist/ops/local/redis.int.spec.js');
    const failed = [
      batch('dist/ops/test/e2e/races.e2e.spec.js'),
      batch('dist/ops/test/e2e/node-races.e2e.spec.js'),
      batch('dist/schemas/plans.unit.spec.js'),
      batch('dist/ops/local/a.int.spec.js', 'dist/projectors/runtime/batch.int.spec.js'),
      batch('dist/command-api/links/create/handler.int.spec.js'),
      late,
    ];
    expect(toRepeat(failed)).to.deep.equal([late]);
  });

  it('names folders and files of exact specs that exist', () => {
    const missing = exactPaths.filter(
      (exactPath) => !existsSync(fileURLToPath(new URL(`../../../${exactPath}`, import.meta.url))),
    );
    expect(missing).to.deep.equal([]);
  });

  it('reports what failed before the repetition, with titles, files and a count', () => {
    const crashed = { ...batch('dist/a.e2e.spec.js'), output: 'Segmentation fault\n' };
    const repeated = [{ ...batch('dist/b.unit.spec.js', 'dist/c.unit.spec.js'), output }, crashed];
    expect(firstFailures(repeated)).to.equal(`Failed before the repetition: 3
  platform: batcher › gathers: no longer than it may (ops/platform/concurrency/batcher.unit.spec.ts)
  platform: batcher › where one command may be to blame › "before each" hook for "fails that command alone" (dist/b.unit.spec.js, dist/c.unit.spec.js)
  the process ended without a report (dist/a.e2e.spec.js)
`);
    expect(firstFailures([])).to.equal('');
  });
});
