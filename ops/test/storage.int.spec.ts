import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { projectFile } from '../platform/files/project-file.js';
import { databaseFixture } from './support/fixtures.js';

describe('ops: the page about storage', () => {
  const database = databaseFixture('storage');

  it('says of every table what bounds it', async () => {
    const { rows } = await database.pool.query<{ name: string }>(
      `SELECT regexp_replace(schemaname || '.' || tablename,
         '^.*[.](checkpoints|high_water_marks|dead_letters|missing_events)$', '\\1') AS name
       FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const page = readFileSync(projectFile('ops', 'docs', 'storage.md'), 'utf8');
    const bounds = page.slice(page.indexOf('## What bounds it'));
    const missing = rows.map(({ name }) => name).filter((name) => !bounds.includes(`\`${name}\``));
    expect([...new Set(missing)]).to.deep.equal([]);
  });
});
