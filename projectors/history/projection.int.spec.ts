import { expect } from 'chai';
import fc from 'fast-check';
import { catalogue, type LinklogEvent } from '../../schemas/events/catalogue.js';
import { readEvent, topicOf } from '../../schemas/events/codec.js';
import { ledgerSource } from '../../schemas/events/envelope.js';
import { withoutSecrets } from '../../schemas/events/redact.js';
import { topics, type TopicName } from '../../schemas/events/topics.js';
import {
  accountsPartition,
  eventOfRow,
  type PositionedHistoryRow,
} from '../../schemas/read-models/history.js';
import {
  blocked,
  created,
  keyChanged,
  keyCreated,
  keyRevoked,
  recordOf,
  someEvent,
} from '../../schemas/testing/events.js';
import { feed } from '../testing/harness.js';
import { emptyTables } from '../testing/tables.js';
import { history } from './projection.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

const storedTopics: readonly TopicName[] = [
  topics.links.name,
  topics.accounts.name,
  topics.platform.name,
];

const isStored = (event: Pick<LinklogEvent, 'type'>): boolean =>
  storedTopics.includes(topicOf(event));

describe('projectors: projection history', () => {
  const database = databaseFixture('history');
  const given = fixture(() => feed(database.pool, history));

  beforeEach(() => emptyTables(database.pool, 'projection_history'));

  const rows = async (): Promise<readonly PositionedHistoryRow[]> => {
    const found = await database.pool.query<PositionedHistoryRow>(
      'SELECT * FROM projection_history.events ORDER BY subject, sequence, partition',
    );
    return found.rows;
  };

  const namesOfRows = async (): Promise<readonly unknown[]> =>
    (await rows()).map((row) => [row.subject, row.sequence, row.partition, row.record_offset]);

  it('stores the first offset of each event in the log, and the partition of accounts as the last', async () => {
    await given.events(created('abc'), created('xyz'), keyCreated('key-1'));
    await given.events(
      created('abc'),
      blocked('abc', 2),
      keyCreated('key-1'),
      keyRevoked('key-1', 2),
    );
    expect(await namesOfRows()).to.deep.equal([
      ['abc', 1, 0, 0],
      ['abc', 2, 0, 3],
      ['key-1', 1, accountsPartition, 0],
      ['key-1', 2, accountsPartition, 2],
      ['xyz', 1, 0, 1],
    ]);
  });

  it('separates a link from a key whose id equals its code', async () => {
    await given.events(keyCreated('abc'), keyChanged('abc', 2, {}), keyRevoked('abc', 3));
    await given.events(created('abc'));
    // The sequences of the key are not those of the link: the block is no repeat.
    await given.events(blocked('abc', 2), blocked('abc', 2));
    expect(
      (await rows()).map(({ type, sequence, partition }) => [type, sequence, partition]),
    ).to.deep.equal([
      ['linklog.LinkCreated.v4', 1, 0],
      [catalogue.ApiKeyCreated.type, 1, accountsPartition],
      ['linklog.LinkBlocked.v1', 2, 0],
      [catalogue.ApiKeyChanged.type, 2, accountsPartition],
      ['linklog.ApiKeyRevoked.v1', 3, accountsPartition],
    ]);
  });

  it('returns every type and attribute of an event, without secrets', async () => {
    // The ids of the ledger's events are UUIDs.
    const stored = someEvent.filter(
      ({ id, ...event }) => isStored(event) && event.source === ledgerSource && id.length === 36,
    );
    const distinct = {
      selector: ({ subject }: LinklogEvent) => subject,
      // So many that each type occurs.
      minLength: 30,
      maxLength: 40,
    };
    const types = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(stored, distinct), async (events) => {
        await emptyTables(database.pool, 'projection_history');
        await given.events(...events);
        const bySubject = new Map((await rows()).map((row) => [row.subject, row]));
        expect(bySubject.size).to.equal(events.length);
        for (const event of events) {
          const row = bySubject.get(event.subject);
          if (!row) throw new Error(`No row of ${event.subject}`);
          expect(eventOfRow(row)).to.equal(
            JSON.stringify(withoutSecrets(readEvent(recordOf(event).value))),
          );
          types.add(event.type);
        }
      }),
      { numRuns: 40 },
    );
    expect([...types].sort()).to.deep.equal(
      Object.values(catalogue)
        .filter(isStored)
        .map(({ type }) => type)
        .sort(),
    );
  });
});
