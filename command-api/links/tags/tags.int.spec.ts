import { expect } from 'chai';
import { databaseFixture } from '../../../ops/test/support/fixtures.js';
import { fixture } from '../../../ops/test/support/fixture.js';
import { redirects } from '../../../projectors/links/projection.js';
import { feed } from '../../../projectors/testing/harness.js';
import { created, deleted } from '../../../schemas/testing/events.js';
import { listTags } from './route.js';

describe('command API: tags of links', () => {
  const database = databaseFixture('tags');
  const given = fixture(() => feed(database.pool, redirects));
  const owner = { account: 'acme' };

  const addLinks = (tag: string, count: number): Promise<void> =>
    given.events(
      ...Array.from({ length: count }, (_, n) => created(`${tag}-${n}`, { tags: [tag] }, owner)),
    );
  const list = (request: { readonly after?: string; readonly limit?: number; prefix?: string }) =>
    listTags(database.pool, { account: 'acme', prefix: '', after: '', limit: 100, ...request });

  it('are listed page by page, without tags of deleted links only', async () => {
    for (const tag of ['a', 'B', 'bb']) await addLinks(tag, 1);
    await addLinks('Aa', 2);
    await given.events(deleted('B-0', 2, owner), deleted('Aa-1', 2, owner));
    const [a, aa, bb] = ['a', 'Aa', 'bb'].map((tag) => ({ tag, links: 1, clicks: 0 }));
    expect(await list({ limit: 2 })).to.deep.equal({ tags: [a, aa], next: 'aa' });
    expect(await list({ limit: 2, after: 'aa' })).to.deep.equal({ tags: [bb], next: null });
    expect(await list({ prefix: 'b' })).to.deep.equal({ tags: [bb], next: null });
  });

  it('have the clicks of at most 1,000 links, deleted ones included', async () => {
    await addLinks('many', 1_000);
    const many = { tag: 'many', links: 1_000, clicks: 0 };
    expect(await list({ prefix: 'many' })).to.deep.equal({ tags: [many], next: null });
    await given.events(created('more', { tags: ['many'] }, owner), deleted('more', 2, owner));
    const unsummed = { tags: [{ ...many, clicks: null }], next: null };
    expect(await list({ prefix: 'many' })).to.deep.equal(unsummed);
  });
});
