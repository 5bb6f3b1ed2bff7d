import { folderFixture } from '../support/fixtures.js';
import { generousPlansFile } from '../support/plans.js';
import { productFixture } from './harness.js';
import { expectCsvFaults } from './import-faults-harness.js';

describe('product: a CSV file of 100,000 rows with bad ones', () => {
  const dir = folderFixture();
  const bench = productFixture(async () => ({ PLANS_FILE: await generousPlansFile(dir.path) }));

  it('is imported except for the bad rows, which are reported with their lines', () =>
    expectCsvFaults(bench, 100_000)).timeout(600_000);
});
