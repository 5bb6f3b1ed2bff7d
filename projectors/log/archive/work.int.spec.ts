import { expect } from 'chai';
import path from 'node:path';
import { createLogger } from '../../../ops/platform/logging.js';
import { idsIn } from '../../../ops/test/support/archive/harness.js';
import { transaction } from '../../../ops/platform/postgres/pool.js';
import {
  startEventStoreDouble,
  type EventStoreDouble,
} from '../../../ops/test/support/eventstore/double.js';
import { databaseFixture, folderFixture } from '../../../ops/test/support/fixtures.js';
import { openTestLog } from '../../../ops/test/support/node.js';
import { eventually, rejection } from '../../../ops/test/support/waiting.js';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { topicOf } from '../../../schemas/events/codec.js';
import { blocked, created, recordOf, unblocked } from '../../../schemas/testing/events.js';
import { NoPreviousProjection } from '../../runtime/previous.js';
import { startArchive, type Archive } from './archive.js';
import { openArchiveStore } from './store.js';
import { restartArchive } from './work.js';

describe("archive: operators' work while the archive runs", () => {
  const logger = createLogger('silent');
  const database = databaseFixture('archive_work', { per: 'test' });
  const folder = folderFixture({ per: 'test' });
  let double: EventStoreDouble;
  let archive: Archive;
  let log: Awaited<ReturnType<typeof openTestLog>>['log'];

  const startDouble = async (maxAppendSize: number, port = 0): Promise<void> => {
    const file = path.join(folder.path, 'streams');
    double = await startEventStoreDouble({ file, maxAppendSize, port });
  };

  beforeEach(async () => {
    const { pool, url } = database;
    await startDouble(3_000);
    ({ log } = await openTestLog({ pool, url, logger }));
    archive = startArchive({ pool, log, store: openArchiveStore(double.url), logger });
  });

  afterEach(async () => {
    await archive.stop();
    await log.close();
    double.kill();
  });

  const append = async (...events: readonly LinklogEvent[]): Promise<void> => {
    for (const event of events) await log.append(topicOf(event), [recordOf(event)]);
  };
  const untilCopied = (): Promise<void> =>
    eventually('the archive has no lag', async () => (await archive.status()).lag === 0);
  const expectStream = (stream: string, events: readonly LinklogEvent[]): void => {
    expect(idsIn(double.streams, stream)).to.deep.equal(events.map(({ id }) => id));
  };

  it('rebuilds idle partitions too: events stay, and lost ones are written again', async () => {
    const events = ['a', 'b', 'c', 'd'].map((code) => created(code));
    await append(...events);
    await untilCopied();
    double.streams.cut('link-b', 0);
    expect(await restartArchive(database.pool, 'rebuild')).to.equal(4);
    await eventually('the lost event is back', () => idsIn(double.streams, 'link-b').length === 1);
    await untilCopied();
    for (const [index, code] of ['a', 'b', 'c', 'd'].entries()) {
      expectStream(`link-${code}`, events.slice(index, index + 1));
    }
  });

  it('rebuilds before a batch whose transaction waits for the rebuild', async () => {
    const { pool } = database;
    const events = [created('a'), blocked('a', 2), unblocked('a', 3)];
    const waiting = async (count: number): Promise<boolean> => {
      const { rowCount } = await pool.query(
        `SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
         WHERE datname = current_database() AND NOT granted`,
      );
      return rowCount === count;
    };
    await append(...events.slice(0, 2));
    await untilCopied();
    const rebuilt = await transaction(pool, async (tx) => {
      await tx.query('SELECT FROM archive.streams');
      const restarted = restartArchive(pool, 'rebuild');
      await eventually('the rebuild has locked the checkpoints', () => waiting(1));
      await append(...events.slice(2));
      await eventually('a batch has begun', () => waiting(2));
      return { restarted };
    });
    await rebuilt.restarted;
    await untilCopied();
    expectStream('link-a', events);
    await archive.check();
  });

  it('redrives dead letters and parked events in order, at their revisions', async () => {
    const url = `https://example.com/${'x'.repeat(3_000)}`;
    const large = created('large', { url }, { sequence: 2 });
    const events = [created('large'), large, blocked('large', 3), unblocked('large', 4)];
    await append(...events, created('other'));
    await untilCopied();
    expect(await archive.status()).to.include({ deadLetters: 1, parked: 2 });
    expect(await restartArchive(database.pool, 'redrive')).to.be.at.least(4);
    await untilCopied();
    expect(await archive.status()).to.include({ deadLetters: 1, parked: 2 });
    expectStream('link-large', events.slice(0, 1));

    const { port } = double;
    double.kill();
    await startDouble(100_000, port);
    await restartArchive(database.pool, 'redrive');
    await eventually(
      'the subject is complete',
      () => idsIn(double.streams, 'link-large').length === 4,
    );
    await untilCopied();
    expectStream('link-large', events);
    expect(await archive.status()).to.include({ deadLetters: 0, parked: 0 });
    expect(await restartArchive(database.pool, 'redrive')).to.equal(0);
  });

  it('refuses a rollback', async () => {
    const refusal = await rejection(restartArchive(database.pool, 'rollback'));
    expect(refusal).to.be.instanceOf(NoPreviousProjection);
    expect((refusal as Error).message).to.include('rebuild it instead');
  });
});
