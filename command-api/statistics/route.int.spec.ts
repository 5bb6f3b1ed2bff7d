import { expect } from 'chai';
import type { Context } from 'koa';
import { openFeed } from '../../ops/feed/feed.js';
import { createLogger } from '../../ops/platform/logging.js';
import { rebuildDue } from '../../ops/platform/postgres/generation.js';
import type { Reply } from '../http/reply.js';
import type { V2State } from '../admission/admitted-call.js';
import { createStatsHandlers } from './route.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';

describe('command API: statistics after an upgrade', () => {
  const database = databaseFixture('upgraded');
  const node = ledgerFixture(database);

  const feed = fixture(
    () => openFeed({ ...node, logger: createLogger('silent') }),
    (opened) => opened.stop(),
  );

  const readReplies = async (): Promise<readonly Reply[]> => {
    const handlers = createStatsHandlers({ ...node, feed });
    const state = { call: { now: new Date(), key: { account: 'shop' } } } as V2State;
    const contextOf = (querystring: string) =>
      ({
        ...{ querystring, req: { url: `/v2/stats?${querystring}` }, state: { headers: {} } },
        accepts: () => 'application/json',
      }) as unknown as Context;
    return [
      await handlers.getAccountStats(contextOf(''), state, () => ''),
      await handlers.getStats(contextOf('include=bots'), state, () => 'nothing0'),
      await handlers.getStats(contextOf('tz=UTC'), state, () => 'nothing0'),
    ];
  };

  it('are 503 until the projectors have built them, except total clicks', async () => {
    const { pool } = database;
    await pool.query(`COMMENT ON SCHEMA projection_stats IS '${rebuildDue}'`);
    const [account, link, clicks] = await readReplies();
    for (const reply of [account, link]) {
      expect(reply).to.deep.include({ status: 503, headers: { 'Retry-After': '30' } });
    }
    expect(clicks).to.include({ status: 404 });
    await pool.query('COMMENT ON SCHEMA projection_stats IS NULL');
    expect((await readReplies()).map(({ status }) => status)).to.deep.equal([200, 404, 404]);
  });
});
