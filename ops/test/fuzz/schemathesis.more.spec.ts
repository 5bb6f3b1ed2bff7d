import { expect } from 'chai';
import { fuzz } from './fuzz.js';
import { needs } from '../support/needs.js';

describe('fuzzing: API, fuzzed by schemathesis with its document', () => {
  needs('schemathesis');
  // `npm run fuzz` sends twenty times as many random examples.
  it('conforms to the document for all generated requests', async function () {
    this.timeout(600_000);
    const { exitCode, report, errors } = await fuzz(['--max-examples', '3']);
    expect(exitCode, report).to.equal(0);
    expect(errors, report).to.deep.equal([]);
    // `npm run fuzz -- --seed …` repeats the requests.
    process.stdout.write(`${report.slice(report.lastIndexOf('Test cases:')).trimEnd()}\n`);
  });
});
