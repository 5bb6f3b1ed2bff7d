import { expect } from 'chai';
import { archiveUnderKills } from '../../../ops/test/support/archive/kills.js';
import { idsIn } from '../../../ops/test/support/archive/harness.js';
import { runLinklogCli } from '../../../ops/test/support/command-line.js';
import { databaseFixture, eventStoreFixture } from '../../../ops/test/support/fixtures.js';
import { sendRequest } from '../../../ops/test/support/http.js';
import { startProduct, type Product } from '../../../ops/test/support/product.js';
import { eventually } from '../../../ops/test/support/waiting.js';

const links = Array.from({ length: 15 }, (_, index) => `link-${index}`);

describe('archive: faults and rebuilds', () => {
  const database = databaseFixture('rebuilds');
  const double = eventStoreFixture();
  let product: Product;

  before(async () => {
    const env = { EVENTSTORE_URL: double.url, DATABASE_URL: database.url };
    product = await startProduct({ env });
  });

  after(async () => {
    await product.stop();
    await product.cleanup();
  });

  const locations = (): Promise<readonly unknown[]> =>
    Promise.all(
      links.map(async (code) => {
        const { status, headers } = await sendRequest(`${product.edge}/${code}`);
        return [status, headers.location];
      }),
    );

  const rebuild = async (): Promise<void> => {
    const env = { DATABASE_URL: database.url, EVENTSTORE_URL: double.url };
    const { exitCode, stderr } = await runLinklogCli(
      ['projections', 'rebuild', 'archive', '--yes'],
      env,
    );
    expect(exitCode, stderr).to.equal(0);
  };

  it('writes no event twice in 10 rebuilds under load, with retention on a third of the streams', async () => {
    const { key } = await product.createKey({ plan: 'PRO' });
    for (const alias of links) {
      const body = { url: `https://example.com/${alias}`, alias };
      const headers = { Authorization: `Bearer ${key}` };
      await sendRequest(`${product.api}/v2/shorten`, { method: 'POST', headers, body });
    }
    const first = await locations();
    const { streams } = double;
    const remove = [
      (stream: string) => {
        streams.retain(stream, { $maxCount: 3 });
      },
      (stream: string) => {
        streams.retain(stream, { $tb: (streams.events(stream)?.at(-1)?.revision ?? 0) + 1 });
      },
      (stream: string) => {
        streams.retain(stream, { $maxAge: 60 });
        streams.elapse(61);
      },
      (stream: string) => {
        streams.softDelete(stream);
      },
    ];
    const total = (): number => links.reduce((sum, code) => sum + lastOf(`visits-${code}`) + 1, 0);
    const lastOf = (stream: string): number => streams.events(stream)?.at(-1)?.revision ?? -1;
    for (let round = 1; round <= 10; round += 1) {
      for (const [index, code] of links.entries()) {
        if (index % 3 === 0) remove[(index / 3 + round) % 4]?.(`visits-${code}`);
      }
      if (round % 2 === 0) streams.scavenge();
      const loads = [locations(), locations()];
      await rebuild();
      for (const load of [...loads, locations()]) expect(await load).to.deep.equal(first);
      const visits = (1 + round * 3) * links.length;
      await eventually(`${visits} visits are archived`, () => total() === visits);
    }
    for (const stream of streams.names()) {
      const ids = idsIn(streams, stream);
      expect(new Set(ids).size, stream).to.equal(ids.length);
      const isComplete = streams.events(`$$${stream}`)?.length === 0;
      if (isComplete) expect(ids, stream).to.have.length(lastOf(stream) + 1);
    }
    const { rows } = await database.pool.query(
      `SELECT (SELECT count(*) FROM archive.dead_letters) AS "deadLetters",
              (SELECT sum(removed) > 0 FROM archive.streams) AS "hasRemoved"`,
    );
    expect(rows).to.deep.equal([{ deadLetters: 0, hasRemoved: true }]);
  });

  it('stores each event once, in order, while a cluster loses its leader and its quorum', async () => {
    const faults = ['kill leader', 'lose quorum'] as const;
    const report = await archiveUnderKills({ events: 1_000, faults });
    expect(report).to.deep.include({ wrong: [], archived: 1_000, started: 1, deadLetters: 0 });
  }).timeout(180_000);
});
