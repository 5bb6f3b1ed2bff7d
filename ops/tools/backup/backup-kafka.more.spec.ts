import { expect } from 'chai';
import path from 'node:path';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { readEvent, topicOf } from '../../../schemas/events/codec.js';
import { blocked, created, keyCreated, recordOf } from '../../../schemas/testing/events.js';
import { openEventLog, type OpenedLog } from '../../app/event-log.js';
import { addToLedger } from '../../ledger/rebuild/rebuild.js';
import { createLogger } from '../../platform/logging.js';
import { listenToPostgres } from '../../platform/postgres/listener.js';
import { execute, transaction } from '../../platform/postgres/pool.js';
import { settingsOf } from '../../test/conformance/event-log/kafka-harness.js';
import { writeNewFile } from '../../platform/files/new-file.js';
import { testDatabase } from '../../test/support/database.js';
import { kafkaStartMs } from '../../test/support/kafka.js';
import { testNode } from '../../test/support/node.js';
import { waitUntilCheckpointed } from '../../test/support/relayed.js';
import { within } from '../../test/support/waiting.js';
import { takeBackup } from './backup.js';
import { openBackup } from './format.js';
import { checkBackup, restoreInto } from './restore.js';
import { databaseFixture, folderFixture, kafkaFixture } from '../../test/support/fixtures.js';

const logger = createLogger('silent');

describe('backup: log on Kafka with unsent events in the outbox', function () {
  this.timeout(60_000);
  const kafka = kafkaFixture('backup', { per: 'test' });
  const database = databaseFixture('kafkabackup', { per: 'test' });
  const dir = folderFixture({ per: 'test' });
  let file: string;

  beforeEach(function () {
    this.timeout(kafkaStartMs);
    file = path.join(dir.path, 'some.backup');
  });

  /** Opens the log as a service (which relays) or as a command (which does not). */
  const withLog = async (
    user: 'service' | 'command',
    work: (opened: OpenedLog) => Promise<void>,
  ): Promise<void> => {
    const { pool, url } = database;
    const listener = listenToPostgres(url, ['linklog_log', 'linklog_sent'], logger);
    try {
      const options = { pool, url, listener, logger, user };
      const opened = await openEventLog({ kafka: settingsOf(kafka) }, options);
      try {
        await opened.untilAvailable();
        await work(opened);
      } finally {
        await opened.close();
      }
    } finally {
      await listener.close();
    }
  };

  /** Decides events: a row of the ledger and a record of the outbox in one transaction. */
  const decide = ({ outbox }: OpenedLog, ...events: readonly LinklogEvent[]) =>
    transaction(database.pool, async (tx) => {
      for (const event of events) {
        await addToLedger(tx, 'ledger', topicOf(event), [{ ...recordOf(event), offset: 0 }]);
      }
      return execute(tx, outbox.record(events));
    });

  const backUp = (opened: OpenedLog) =>
    within(
      30_000,
      'the backup waits for the relay',
      takeBackup({
        ...opened,
        pool: database.pool,
        spoolRoot: path.join(dir.path, 'spool'),
        target: (write) => writeNewFile(file, { replace: true }, write),
        spoolWithinMs: 0,
      }),
    );

  const nameOf = ({ subject, sequence }: LinklogEvent): string => `${subject} ${sequence}`;

  /** The events of the backup in the order of the file. */
  const eventsIn = async (): Promise<readonly string[]> => {
    const backup = await openBackup(file);
    const found: string[] = [];
    try {
      await backup.read(({ records }) => {
        found.push(...records.map(({ value }) => nameOf(readEvent(value))));
        return Promise.resolve();
      });
    } finally {
      await backup.close();
    }
    return found;
  };

  const sent = [keyCreated('key-1'), created('spring'), created('summer')];
  const unsent = [
    blocked('spring', 2),
    created('autumn'),
    keyCreated('key-2', { hash: 'b'.repeat(64) }),
  ];

  const sendSome = (): Promise<void> =>
    withLog('service', async (opened) => {
      const position = await decide(opened, ...sent);
      expect(await opened.delivery.published(position, 20_000)).to.equal(true);
      await waitUntilCheckpointed(database.pool);
    });

  it('contains them while no service runs, and a restore applies them', async () => {
    await sendSome();
    await withLog('command', async (opened) => {
      await decide(opened, ...unsent);
      const { records } = await backUp(opened);
      expect(records).to.equal(6);
    });
    expect(await eventsIn()).to.have.members([...sent, ...unsent].map(nameOf));

    const target = await testDatabase('target');
    const node = await testNode(target);
    try {
      const backup = await openBackup(file);
      await checkBackup(backup, { file });
      await restoreInto({ ...node, logger }, backup, {});
      await backup.close();
      const { rows } = await target.pool.query(
        'SELECT subject, sequence, blocked FROM ledger.links ORDER BY subject',
      );
      expect(rows).to.deep.equal([
        { subject: 'autumn', sequence: 1, blocked: false },
        { subject: 'spring', sequence: 2, blocked: true },
        { subject: 'summer', sequence: 1, blocked: false },
      ]);
    } finally {
      await node.close();
      await target.drop();
    }
  });

  it('contains events once that are in Kafka but not marked as sent', async () => {
    await sendSome();
    await withLog('command', async (opened) => {
      await decide(opened, ...unsent);
      for (const event of unsent.filter(({ subject }) => subject !== 'autumn')) {
        await opened.log.append(topicOf(event), [recordOf(event)]);
      }
      await backUp(opened);
    });
    expect(await eventsIn()).to.have.members([...sent, ...unsent].map(nameOf));
  });

  it('contains all earlier events once while a relay sends', async () => {
    await withLog('service', async (opened) => {
      const stopped = new AbortController();
      let count = 0;
      const deciding = (async () => {
        while (!stopped.signal.aborted) {
          count += 1;
          await decide(opened, created(`busy-${count}`));
        }
      })();
      for (let round = 0; round < 5; round += 1) {
        const before = count - 1;
        await backUp(opened);
        const events = await eventsIn();
        expect(new Set(events).size).to.equal(events.length);
        for (let index = 1; index <= before; index += 1) {
          expect(events).to.include(`busy-${index} 1`);
        }
      }
      stopped.abort();
      await deciding;
    });
  });
});
