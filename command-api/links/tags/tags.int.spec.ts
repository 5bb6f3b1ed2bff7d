import { expect } from 'chai';
import { databaseFixture } from '../../../ops/test/support/fixtures.js';
import { listTags } from './route.js';

describe('command API: tags of links', () => {
  const database = databaseFixture('tags');

  const addLinks = (tag: string, status: string, from: number, to: number): Promise<unknown> =>
    database.pool.query(
      `WITH added AS (
         INSERT INTO projection_redirects.links (subject, account, url, status, tags, created_at, sequence)
         SELECT $1 || n, 'acme', 'https://example.com/', $2, jsonb_build_array($1::text),
           timestamptz '2026-01-01Z' + n * interval '1 s', 1
         FROM generate_series($3::int, $4::int) AS s (n) RETURNING subject, created_at
       )
       INSERT INTO projection_redirects.link_tags (account, tag, created_at, subject)
       SELECT 'acme', $1, created_at, subject FROM added`,
      [tag, status, from, to],
    );

  const list = (request: { readonly after?: string; readonly limit?: number; prefix?: string }) =>
    listTags(database.pool, { account: 'acme', prefix: '', after: '', limit: 100, ...request });

  it('continue after tags without links, of which a page examines 200', async () => {
    for (let number = 1_000; number < 1_250; number += 1) {
      await addLinks(`t${number}`, number < 1_249 ? 'deleted' : 'active', 1, 1);
    }
    const first = await list({});
    expect(first).to.deep.equal({ tags: [], next: 't1199' });
    const last = { tag: 't1249', links: 1, clicks: 0 };
    expect(await list({ after: 't1199' })).to.deep.equal({ tags: [last], next: null });
    expect(await list({ prefix: 't1249' })).to.deep.equal({ tags: [last], next: null });
  });

  it('count at most 10,000 links', async () => {
    await addLinks('many', 'active', 1, 10_001);
    const many = { tag: 'many', links: 10_000, clicks: null };
    expect(await list({ prefix: 'many' })).to.deep.equal({ tags: [many], next: null });
  });
});
