import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { projectFile } from '../../platform/files/project-file.js';
import { keyFixture, sharedProduct } from './harness.js';
import { importCalls, outcomesOf } from './imports-harness.js';

const folder = projectFile('command-api', 'testing', 'import-samples');

/** Files, their formats, and the outcomes of their rows. The unit specs of the formats check all values. */
const samples: ReadonlyMap<string, readonly [format: string, outcomes: string]> = new Map([
  ['bitly-ui-export.csv', ['bitly-csv', 'Sale created']],
  ['kutt-api-links.json', ['kutt-json', 'Ab3xYz disabled, x_y-z invalid']],
  ['shlink-web-short_urls.csv', ['shlink-csv', '9r2TW created, 😀 created, docs/install invalid']],
  ['two-columns-latin1.csv', ['csv', 'käse created']],
  [
    'yourls-mysqldump.sql',
    ['yourls-sql', '1 created, ozh created, caf\\e invalid, Abc created, abc created'],
  ],
]);

describe('an import of a sample file', () => {
  const bench = sharedProduct();
  const owner = keyFixture(bench, 'PRO', { account: 'import-samples' });
  const imports = importCalls(bench);
  const read = (name: string): Buffer => readFileSync(`${folder}/${name}`);

  for (const [name, [format, outcomes]] of samples) {
    it(`detects the format of ${name}, and creates its links`, async () => {
      // Samples have the same codes.
      const domain = `${name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-')}.example`;
      const body = { domain, account: owner.account };
      expect((await bench.admin('POST', '/admin/domains', body)).status).to.equal(201);
      const { ended, rows } = await imports.run(read(name), owner.key, `?domain=${domain}`);
      expect(ended).to.include({ format, status: 'done' });
      expect(outcomesOf({ rows }).join(', ')).to.equal(outcomes);
      for (const { code, url, outcome } of rows) {
        if (outcome !== 'created') continue;
        expect(await imports.details(code ?? '', owner.key, domain)).to.include({ url });
      }
    });
  }
});
