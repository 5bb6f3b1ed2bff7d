import { expect } from 'chai';
import { recordHistory } from '../../../ops/test/support/ledger-links.js';
import { redirects } from '../../../projectors/links/projection.js';
import { feed } from '../../../projectors/testing/harness.js';
import { listLinksQuery } from '../../../schemas/http/list-links.js';
import type { LinkPage } from '../../../schemas/http/links.js';
import { maxPageBytes } from '../../../schemas/http/paging.js';
import { at, created } from '../../../schemas/testing/events.js';
import { respondWithList } from './route.js';
import { databaseFixture, ledgerFixture } from '../../../ops/test/support/fixtures.js';

describe('command API: pages of links', () => {
  const database = databaseFixture('link_pages');
  const node = ledgerFixture(database);

  const read = async (query: object): Promise<{ bytes: number; page: LinkPage }> => {
    const { pool, outbox } = node;
    const deps = { pool, outbox, shortUrlHost: 'https://sho.rt' };
    const request = { ...listLinksQuery.parse(query), account: 'acme' };
    const reply = await respondWithList(deps, request, at(10_000), (details) => details);
    if (reply.type !== 'json') throw new Error(`respondWithList() returned ${reply.status}`);
    const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body);
    return { bytes: Buffer.byteLength(text), page: JSON.parse(text) as LinkPage };
  };

  it('end before a link that would make them too large, and continue with it', async () => {
    const subjects = Array.from({ length: 250 }, (_, index) => `large-${100 + index}`);
    const text = (length: number): string => '🏕'.repeat(length);
    const texts = {
      ...{ title: text(200), note: text(2_000) },
      tags: Array.from({ length: 20 }, (_, index) => text(48) + String(10 + index)),
    };
    const events = subjects.map((subject, index) =>
      created(subject, texts, { account: 'acme', time: at(index) }),
    );
    await recordHistory(node, ...events);
    await feed(database.pool, redirects).events(...events);

    const found: string[] = [];
    for (let after: string | null = null, pages = 1; ; pages += 1) {
      const { bytes, page } = await read({ limit: '100', ...(after !== null && { after }) });
      expect(bytes).to.be.at.most(maxPageBytes);
      found.push(...page.links.map(({ shortCode }) => shortCode));
      after = page.next;
      if (after === null) {
        expect(pages).to.equal(7);
        break;
      }
      expect(bytes).to.be.above(0.95 * maxPageBytes);
    }
    expect(found).to.deep.equal(subjects.reverse());
  });
});
