import { expect } from 'chai';
import { created } from '../../../schemas/testing/events.js';
import { parseExposition, total } from '../../test/support/exposition.js';
import { rejection } from '../../test/support/waiting.js';
import { openTestLog } from '../../test/support/node.js';
import { createLogger } from '../../platform/logging.js';
import { createMetrics } from '../../platform/metrics/metrics.js';
import { execute, transaction } from '../../platform/postgres/pool.js';
import { measureOutbox } from './outbox-metrics.js';
import { databaseFixture, ledgerFixture } from '../../test/support/fixtures.js';

describe('platform: measured outbox', () => {
  const database = databaseFixture('measured');
  const node = ledgerFixture(database);

  it('counts committed events only', async () => {
    const metrics = createMetrics();
    const { log, outbox } = await openTestLog({
      pool: node.pool,
      url: database.url,
      logger: createLogger('silent'),
      onRecorded: measureOutbox(metrics),
    });
    await log.close();
    const counts = async (): Promise<number[]> => {
      const series = parseExposition(await metrics.text());
      return [
        total(series, 'linklog_outbox_append_duration_seconds_count'),
        total(series, 'linklog_outbox_appended_events_total'),
      ];
    };
    await transaction(node.pool, async (tx) => {
      await execute(tx, outbox.record([created('a'), created('b'), created('c')]));
      expect(await counts()).to.deep.equal([0, 0]);
    });
    expect(await counts()).to.deep.equal([1, 3]);

    const failure = new Error('Changed its mind');
    const failed = transaction(node.pool, async (tx) => {
      await execute(tx, outbox.record([created('d')]));
      throw failure;
    });
    expect(await rejection(failed)).to.equal(failure);
    // The same connection must not count the events that were rolled back.
    await transaction(node.pool, (tx) => execute(tx, outbox.record([])));
    expect(await counts()).to.deep.equal([1, 3]);

    await transaction(node.pool, (tx) => execute(tx, outbox.record([created('e')])));
    expect(await counts()).to.deep.equal([2, 4]);
    expect(await node.events('links')).to.have.length(4);
  });
});
