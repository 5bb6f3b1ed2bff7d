import { expect } from 'chai';
import { pino, type Logger } from 'pino';
import type { EventLog } from '../ops/event-log/port.js';
import { eventually } from '../ops/test/support/waiting.js';
import type { LinklogEvent } from '../schemas/events/catalogue.js';
import { topicOf } from '../schemas/events/codec.js';
import { spoolSource } from '../schemas/events/envelope.js';
import { topicNames, topics, type TopicName } from '../schemas/events/topics.js';

import {
  blocked,
  created,
  importedVisit,
  importIdAt,
  keyChanged,
  keyCreated,
  maintenanceSwitched,
  metered,
  noon,
  recordOf,
  spooledVisit,
  unblocked,
  visited,
} from '../schemas/testing/events.js';
import { missingEvents, projectionStatus, sequenceStates, startProjectors } from './main.js';
import { history } from './history/projection.js';
import { createBatchHandler } from './runtime/batch.js';
import { stats } from './statistics/projection.js';
import type { Projection } from './runtime/projection.js';
import { rebuild } from './runtime/rebuild.js';
import { feed, namedLog } from './testing/harness.js';
import { databaseFixture, ledgerFixture } from '../ops/test/support/fixtures.js';

const { links, visits, accounts, platform, usage } = topics;

/** A logger, and its lines about missing events. */
const collectingLogger = () => {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>);
  const logger = pino({ level: 'error', base: null }, { write });
  const ofMissing = () => lines.filter(({ msg }) => String(msg).endsWith('missing from the log'));
  return { logger, ofMissing };
};

describe('projectors: missing events', function () {
  this.timeout(60_000);
  const database = databaseFixture('missing_events', { per: 'test' });
  const node = ledgerFixture(database, { per: 'test' });

  const append = async (log: EventLog, events: readonly LinklogEvent[]): Promise<void> => {
    for (const topic of topicNames) {
      await log.append(topic, events.filter((event) => topicOf(event) === topic).map(recordOf));
    }
  };

  /** Passes batches of partition 0 of a topic to a projection, by their first offset. */
  const batchesOf = (projection: Projection, topic: TopicName, logger: Logger) => {
    const deps = { pool: database.pool, log: namedLog(), logger };
    const handle = createBatchHandler({ ...deps, projection });
    return (first: number, ...events: readonly LinklogEvent[]) =>
      handle({
        ...{ topic, partition: 0 },
        records: events.map((event, index) => ({ ...recordOf(event), offset: first + index })),
      });
  };

  const projected = (log: EventLog): Promise<void> =>
    eventually('all events are projected', async () =>
      (await projectionStatus(database.pool, log)).every(({ lag }) => lag === 0),
    );

  describe('of subjects', () => {
    const missing = (topic: string, events: number) => ({ origin: 'subject', topic, events });

    it('are recorded when an event skips a sequence, with or without repeats', async () => {
      const { logger, ofMissing } = collectingLogger();
      const { pool } = database;
      const batch = batchesOf(history, links.name, logger);
      await batch(0, created('a'), blocked('a', 2), created('a'), created('b'));
      expect(await missingEvents(pool)).to.deep.equal([]);
      await batch(4, unblocked('a', 3), blocked('a', 6), blocked('b', 3), unblocked('c', 2));
      expect(await missingEvents(pool)).to.deep.equal([missing(links.name, 4)]);
      // A late event is dropped like a repeat, and stays missing: the folds need their order.
      expect(await batch(8, unblocked('a', 5), unblocked('a', 7))).to.include({ repeats: 1 });
      expect(await missingEvents(pool)).to.deep.equal([missing(links.name, 4)]);
      expect(
        ofMissing().map((line) => [
          line['topic'],
          line['subject'],
          line['sequence'],
          line['missing'],
        ]),
      ).to.deep.equal([
        [links.name, 'a', 4, 2],
        [links.name, 'b', 2, 1],
        [links.name, 'c', 1, 1],
      ]);
      const events = [3, 4, 5, 6, 8].map((sequence) => ({ subject: 'a', sequence }));
      const states = await sequenceStates(pool, links.name, 0, events);
      expect(states).to.deep.equal(['applied', 'overtaken', 'overtaken', 'applied', 'absent']);
    });

    it('are counted up to the largest safe integer, for any sequences of a foreign writer', async () => {
      const sequence = Number.MAX_SAFE_INTEGER;
      await feed(database.pool, history).events(blocked('a', sequence), blocked('b', sequence));
      const expected = [missing(links.name, sequence)];
      expect(await missingEvents(database.pool)).to.deep.equal(expected);
    });

    it('are not recorded after an unreadable record', async () => {
      const broken = { key: 'a', value: '{' };
      const given = feed(database.pool, history);
      await given.records(links.name, [recordOf(created('a')), broken, recordOf(blocked('a', 3))]);
      await given.records(links.name, [recordOf(unblocked('a', 5))]);
      expect(await missingEvents(database.pool)).to.deep.equal([]);
    });

    it('are found in each topic of a log that may have repeats, and again by a rebuild', async () => {
      const { logger, ofMissing } = collectingLogger();
      const { pool } = node;
      // Like Kafka.
      const log: EventLog = { ...node.log, mayRepeatLedger: true };
      await append(log, [
        ...[keyCreated('key-1'), keyChanged('key-1', 3, {})],
        ...[maintenanceSwitched(2, true), created('a'), blocked('a', 5)],
        ...[visited('a', 1), visited('a', 4), metered('key-1', 3, 1)],
      ]);
      const projectors = await startProjectors({ pool, log, logger });
      const expected = [
        ...[missing(accounts.name, 1), missing(links.name, 3), missing(platform.name, 1)],
        ...[missing(usage.name, 2), missing(visits.name, 2)],
      ];
      await projected(log);
      await projectors.stop();
      expect(await missingEvents(pool)).to.deep.equal(expected);
      expect(ofMissing()).to.have.length(5);
      await rebuild({ pool, log, logger, projection: history });
      expect(await missingEvents(pool)).to.deep.equal(expected);
      expect(ofMissing()).to.have.length(5);
    });
  });

  describe('of spools', () => {
    const visitsOf = (spool: string, ...sequences: readonly number[]) =>
      sequences.map((sequence) => spooledVisit('a', { sequence, spool }));

    it('are recorded when a visit skips a sequence of the spool in its partition, and logged once', async () => {
      const { logger, ofMissing } = collectingLogger();
      const { pool } = database;
      const batch = batchesOf(stats, visits.name, logger);
      const missing = (events: number) => [{ origin: 'spool', topic: visits.name, events }];
      const daysAgo = (days: number) => importIdAt(new Date(noon.getTime() - days * 86_400_000));
      await batch(0, ...visitsOf('one/0', 1, 2, 1, 2, 3));
      expect(await missingEvents(pool)).to.deep.equal([]);
      await batch(5, ...visitsOf('one/0', 3, 6, 7));
      expect(await missingEvents(pool)).to.deep.equal(missing(2));
      // Also the first visits of a spool, unless its mark may have expired.
      await batch(8, ...visitsOf(`${daysAgo(30)}/0`, 2), ...visitsOf(`${daysAgo(31)}/0`, 2, 4));
      expect(await missingEvents(pool)).to.deep.equal(missing(4));
      // These have one sequence for all partitions.
      await batch(11, ...visitsOf('one', 3, 7));
      await batch(13, importedVisit('a', { sequence: 3 }), importedVisit('a', { sequence: 7 }));
      expect(await missingEvents(pool)).to.deep.equal(missing(4));
      expect(
        ofMissing().map((line) => [line['source'], line['sequence'], line['missing']]),
      ).to.deep.equal([
        [spoolSource('one/0'), 4, 2],
        [spoolSource(`${daysAgo(30)}/0`), 1, 1],
        [spoolSource(`${daysAgo(31)}/0`), 3, 1],
      ]);
    });
  });
});
