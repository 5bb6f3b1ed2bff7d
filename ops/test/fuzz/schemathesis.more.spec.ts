import { expect } from 'chai';
import { fuzz } from './fuzz.js';
import { needs } from '../support/needs.js';

describe('fuzzing: API, fuzzed by schemathesis with its document', () => {
  needs('schemathesis');
  // The same requests in every run. `npm run fuzz` sends twenty times as many, and others in each run.
  it('conforms to the document for all generated requests', async function () {
    this.timeout(600_000);
    const { exitCode, report, errors } = await fuzz([
      ...['--max-examples', '3', '--generation-deterministic'],
    ]);
    expect(exitCode, report).to.equal(0);
    expect(errors, report).to.deep.equal([]);
    process.stdout.write(`${report.slice(report.lastIndexOf('Test cases:')).trimEnd()}\n`);
  });
});
