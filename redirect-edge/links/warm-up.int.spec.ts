import { expect } from 'chai';
import { recordHistory } from '../../ops/test/support/ledger-links.js';
import { evolveLink, initialState } from '../../schemas/folds/link.js';
import { rowOfState } from '../../schemas/read-models/redirects.js';
import { created } from '../../schemas/testing/events.js';
import { LinkCache, LinkReader } from './link-reader.js';
import { warmUp } from './warm-up.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';

describe('redirect edge: warm-up', () => {
  const database = databaseFixture('warm_up');
  const node = ledgerFixture(database);
  const events = Array.from({ length: 600 }, (_, index) =>
    created(`link-${index}`, { url: `https://example.com/${index}/${'x'.repeat(1_000)}` }),
  );
  const [oldest, newest] = [events[0]?.subject ?? '', events.at(-1)?.subject ?? ''];

  before(async () => {
    await recordHistory(node, ...events);
    await node.pool.query(
      `INSERT INTO projection_redirects.links
       SELECT r.* FROM unnest($1::jsonb[]) WITH ORDINALITY AS e (row, number),
         jsonb_populate_record(NULL::projection_redirects.links, e.row) AS r ORDER BY number`,
      [events.map((event) => JSON.stringify(rowOfState(evolveLink(initialState, event), 1)))],
    );
  });

  const warmUpCache = async (bytes: number, signal = new AbortController().signal) => {
    const cache = new LinkCache(bytes);
    const links = new LinkReader(node.pool, node.outbox, cache);
    await warmUp({ postgres: node.pool, links, cache, signal });
    return { cache, links };
  };

  it('reads all links if the cache is large enough', async () => {
    const { cache, links } = await warmUpCache(64e6);
    expect(cache.count).to.equal(events.length);
    expect(links.cached(oldest)?.location).to.match(/^https:\/\/example\.com\/0\/x/);
    expect(links.cached(newest)?.location).to.match(/^https:\/\/example\.com\/599\/x/);
  });

  it('reads only the newest links if it is not, and evicts none', async () => {
    const { cache, links } = await warmUpCache(1.2e6);
    expect(cache.count).to.be.within(1, events.length - 1);
    expect(cache.room).to.be.above(0);
    expect(links.cached(newest)).to.be.an('object');
    expect(links.cached(oldest)).to.equal(undefined);
  });

  it('stops when the signal is aborted', async () => {
    expect((await warmUpCache(64e6, AbortSignal.abort())).cache.count).to.equal(0);
  });
});
