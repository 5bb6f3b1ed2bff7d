import { expect } from 'chai';
import { createShortenHandler } from '../../../../command-api/links/create/handler.js';
import { newKey } from '../../../../command-api/testing/keys.js';
import { shortenCommand } from '../../../../command-api/testing/links.js';
import { settingsOf } from '../../../test/conformance/event-log/kafka-harness.js';
import { openKafkaLog } from '../../../event-log/kafka/kafka-log.js';
import { createLogger } from '../../../platform/logging.js';
import { topics } from '../../../../schemas/events/topics.js';
import type { RowPosition, Verification } from './report.js';
import { verify } from './verify.js';
import { fixture } from '../../../test/support/fixture.js';
import { databaseFixture, kafkaFixture, ledgerFixture } from '../../../test/support/fixtures.js';

const differing = ({ differences }: Verification): readonly string[] =>
  differences.map(({ model, table, kind }) => `${model}.${table} ${kind}`);

const positionOf = ({ in: where, topic, offset }: RowPosition): string =>
  `${where} ${topic} ${offset}`;

describe('audit verify, with the log on Kafka', function () {
  this.timeout(120_000);

  describe('with events in the outbox that are not in Kafka', () => {
    const unsent = kafkaFixture('unsent');
    const database = databaseFixture('unsent');
    const node = ledgerFixture(database);
    const log = fixture(
      () => openKafkaLog({ settings: settingsOf(unsent), logger: createLogger('silent') }),
      (log) => log.close(),
    );

    before(async () => {
      await log.ready;
      await node.pool.query(
        'INSERT INTO log.relayed (partition_id, next_offset) SELECT id, 0 FROM log.partitions',
      );
      const key = await newKey(node);
      const handler = createShortenHandler({ ...node, generateCode: () => 'generated' });
      await handler.shorten(shortenCommand(key, [{ code: 'code', custom: true }]));
    });

    const verified = (): Promise<Verification> => verify({ pool: database.pool, log });

    /** Sends like the relay, but link events first, before the event of their key. */
    const send = async (topic: 'links' | 'accounts'): Promise<void> => {
      const { rows } = await database.pool.query<{ key: string; value: string }>(
        `SELECT key, value FROM log.events e JOIN log.partitions p ON p.id = e.partition_id
         WHERE topic = $1`,
        [topics[topic].name],
      );
      await log.append(topics[topic].name, rows);
    };
    const markSent = (topic: 'links' | 'accounts') =>
      database.pool.query(
        `UPDATE log.relayed r SET next_offset = p.next_offset FROM log.partitions p
         WHERE p.id = r.partition_id AND p.topic = $1`,
        [topics[topic].name],
      );

    it('includes them, whether they are sent, marked as sent, or repeated', async () => {
      const events: number[] = [];
      for (const step of [
        () => Promise.resolve(),
        () => send('links'),
        () => markSent('links'),
        () => send('accounts'),
        () => send('accounts'),
      ]) {
        await step();
        const found = await verified();
        expect(differing(found)).to.deep.equal([]);
        expect(found.missing.events).to.equal(0);
        events.push(found.events);
      }
      expect(events).to.deep.equal([2, 3, 2, 3, 4]);
    });

    it('reports which events are still in the outbox', async () => {
      await newKey(node);
      await database.pool.query('UPDATE ledger.key_meters SET month_links = 7');
      await database.pool.query(`UPDATE ledger.api_keys SET name = 'another'`);
      const found = await verified();
      expect(
        found.differences.map(({ table, events }) => [table, ...events.map(positionOf)]),
      ).to.deep.equal([
        ['api_keys', 'log linklog.accounts.v1 0', 'log linklog.accounts.v1 1'],
        ['api_keys', 'outbox linklog.accounts.v1 1'],
        ['key_meters', 'log linklog.links.v1 0'],
        ['key_meters'],
      ]);
    });
  });
});
