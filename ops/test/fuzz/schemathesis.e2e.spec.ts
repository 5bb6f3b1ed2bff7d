import { expect } from 'chai';
import { fuzz } from './fuzz.js';

describe('fuzzing: API, fuzzed by schemathesis after its own document', () => {
  // `npm run fuzz` asks with three times as many examples. What it derives from the document is always asked in full.
  it('does what the document says, whatever it is asked', async function () {
    this.timeout(600_000);
    const { exitCode, report, errors } = await fuzz(['--max-examples', '20']);
    expect(exitCode, report).to.equal(0);
    expect(errors, report).to.deep.equal([]);
    // With the seed, `npm run fuzz -- --seed …` asks the same again.
    process.stdout.write(`${report.slice(report.lastIndexOf('Test cases:')).trimEnd()}\n`);
  });
});
