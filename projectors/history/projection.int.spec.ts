import { expect } from 'chai';
import fc from 'fast-check';
import { catalogue, type LinklogEvent } from '../../schemas/events/catalogue.js';
import { readEvent, topicOf } from '../../schemas/events/codec.js';
import { ledgerSource } from '../../schemas/events/envelope.js';
import { withoutSecrets } from '../../schemas/events/redact.js';
import { topics } from '../../schemas/events/topics.js';
import { eventOfRow, type HistoryRow } from '../../schemas/read-models/history.js';
import { blocked, created, recordOf, someEvent, unblocked } from '../../schemas/testing/events.js';
import { feed } from '../testing/harness.js';
import { emptyTables } from '../testing/tables.js';
import { history } from './projection.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

describe('projectors: projection history', () => {
  const database = databaseFixture('history');
  const given = fixture(() => feed(database.pool, history));

  beforeEach(() => emptyTables(database.pool, 'projection_history'));

  const rows = async (): Promise<readonly HistoryRow[]> => {
    const found = await database.pool.query<HistoryRow>(
      'SELECT * FROM projection_history.events ORDER BY subject, sequence',
    );
    return found.rows;
  };

  it('stores every event of a link in order', async () => {
    await given.events(created('abc'), blocked('abc', 2), created('xyz'), unblocked('abc', 3));
    expect(
      (await rows()).map(({ subject, sequence, type }) => [subject, sequence, type]),
    ).to.deep.equal([
      ['abc', 1, 'linklog.LinkCreated.v4'],
      ['abc', 2, 'linklog.LinkBlocked.v1'],
      ['abc', 3, 'linklog.LinkUnblocked.v1'],
      ['xyz', 1, 'linklog.LinkCreated.v4'],
    ]);
  });

  it('stores no secrets', async () => {
    await given.events(created('abc', { passwordHash: '$argon2id$secret' }));
    const [row] = await rows();
    expect(row?.data).not.to.contain('argon2id');
    expect(row?.data).to.contain('"url"');
  });

  it('returns every type and attribute of an event, without secrets', async () => {
    // The ids of the ledger's events are UUIDs.
    const ofLinks = someEvent.filter(
      ({ id, ...event }) =>
        topicOf(event) === topics.links.name && event.source === ledgerSource && id.length === 36,
    );
    const distinct = {
      selector: ({ subject }: LinklogEvent) => subject,
      minLength: 1,
      maxLength: 20,
    };
    const types = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(ofLinks, distinct), async (events) => {
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
      { numRuns: 30 },
    );
    const linkEvents = Object.values(catalogue).filter(({ topic }) => topic === 'links');
    expect(types.size).to.equal(linkEvents.length);
  });
});
