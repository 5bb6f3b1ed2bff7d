import { expect } from 'chai';
import { readEvent, UnknownEventType } from '../../schemas/events/codec.js';
import { topics } from '../../schemas/events/topics.js';
import { feedEventNames, typesOfNames } from '../../schemas/feed.js';
import {
  blocked,
  created,
  described,
  keyChanged,
  keyCreated,
  recordOf,
  spooledVisit,
  unblocked,
} from '../../schemas/testing/events.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { topicOf } from '../../schemas/events/codec.js';
import { partitionOf } from '../event-log/partition.js';
import { rejection } from '../test/support/waiting.js';
import { projectHistory } from '../test/support/feed-records.js';
import { databaseFixture, ledgerFixture } from '../test/support/fixtures.js';
import { firstIndexOf, startCursor } from './cursor.js';
import { accountsPartition } from '../../schemas/read-models/history.js';
import { feedEventOf, type FeedFilter } from './filter.js';
import { readHistory, readVisits, type PartitionEvents } from './stored-events.js';

const visits = topics.visits.name;

const filterOf = (account: string, values: Partial<FeedFilter> = {}): FeedFilter => ({
  ...{ account, types: typesOfNames(feedEventNames), subject: null, domain: null },
  ...values,
});

const subjectsOf = ({ events }: PartitionEvents): readonly string[] =>
  events.map(({ subject }) => subject);

const offsetsOf = ({ events }: PartitionEvents): readonly number[] =>
  events.map(({ offset }) => offset);

describe('feed: events in the history', () => {
  const database = databaseFixture('stored', { per: 'test' });
  const node = ledgerFixture(database, { per: 'test' });

  const append = async (...events: readonly LinklogEvent[]): Promise<void> => {
    for (const event of events) await node.log.append(topicOf(event), [recordOf(event)]);
  };
  const project = (): Promise<void> => projectHistory(node.pool, node.log);

  const code = 'abc';
  const index = partitionOf(code, topics.links.partitions);
  const acme = { account: 'acme' };
  const other = { account: 'other' };

  const read = async (
    filter: FeedFilter,
    limit: number,
    from = 0,
    at = index,
  ): Promise<PartitionEvents> => {
    const cursor = startCursor.with(at, from);
    const limits = { events: limit, bytes: 200_000 };
    const [found, ...others] = await readHistory(node.pool, filter, cursor, [at], limits, 1);
    if (!found) throw new Error('readHistory() returned no partition');
    expect(others).to.deep.equal([]);
    expect(found.index).to.equal(at);
    return found;
  };

  it('are found among 1,000 rows that the filter does not select', async () => {
    const others = Array.from({ length: 1_000 }, (_, at) => described(code, at + 2, {}, acme));
    const records = [created(code, {}, acme), ...others, unblocked(code, 1_002, acme)].map(
      recordOf,
    );
    await node.log.append(topics.links.name, records);
    await project();
    const filter = filterOf('acme', { types: typesOfNames(['LinkUnblocked']) });
    const first = await read(filter, 2);
    expect(first).to.deep.equal({ index, events: [], scanned: 1_000, atEnd: false });
    const second = await read(filter, 1, 2);
    expect(offsetsOf(second)).to.deep.equal([1_001]);
    expect(second).to.include({ scanned: 1_002, atEnd: false });
    expect(await read(filter, 2, 2)).to.include({ scanned: 1_002, atEnd: true });
  });

  it('have at most the limit of bytes, or one event; unselected rows count nothing', async () => {
    const note = (length: number) => ({ note: 'x'.repeat(length) });
    await append(
      created(code, {}, acme),
      described(code, 2, note(90_000), acme),
      described(code, 3, note(90_000), acme),
      described(code, 4, note(90_000), acme),
      described(code, 5, note(300_000), acme),
      described(code, 6, note(10), acme),
    );
    await project();
    const portions: (readonly number[])[] = [];
    let from = 0;
    for (let atEnd = false; !atEnd;) {
      const found = await read(filterOf('acme'), 100, from);
      portions.push(offsetsOf(found));
      expect(found.scanned).to.be.above(from);
      ({ scanned: from, atEnd } = found);
    }
    expect(portions).to.deep.equal([[0, 1, 2, 3], [4], [5]]);
    const creations = filterOf('acme', { types: typesOfNames(['LinkCreated']) });
    expect(await read(creations, 100)).to.include({ scanned: 6, atEnd: true });
  });

  it('of a link exclude a key with the same id, and other links', async () => {
    const sibling = Array.from({ length: 1_000 }, (_, number) => `s-${number}`).find(
      (subject) => partitionOf(subject, topics.links.partitions) === index,
    );
    await append(
      keyCreated(code, {}, acme),
      keyChanged(code, 2, {}, acme),
      created(sibling ?? '', {}, acme),
      created(code, {}, acme),
      blocked(code, 2, other),
    );
    await project();
    const found = await read(filterOf('acme', { subject: code }), 100);
    expect(found.events.map(({ type }) => type)).to.deep.equal(['linklog.LinkCreated.v4']);
    expect(found).to.include({ scanned: 3, atEnd: true });
    const ofAccount = await read(filterOf('acme'), 100, 0, accountsPartition);
    expect(subjectsOf(ofAccount)).to.deep.equal([code, code]);
    expect(ofAccount).to.include({ scanned: 2, atEnd: true });
  });

  it('are those of the reader at the head of the log', async () => {
    const events = [
      created(code, { passwordHash: 'secret' }, { ...acme, actor: 'maria', correlationId: 'a' }),
      blocked(code, 2, { ...acme, actor: 'maria', correlationId: 'b', causationId: 'c' }),
      described(code, 3, { title: 'ü"\\\u2028', tags: ['\u0000'] }, acme),
    ];
    await append(...events);
    await project();
    const { events: found } = await read(filterOf('acme'), 100);
    expect(found).to.deep.equal(
      events.map((event, offset) => feedEventOf(readEvent(recordOf(event).value), index, offset)),
    );
  });
});

describe('feed: visits in the log', () => {
  const database = databaseFixture('stored');
  const node = ledgerFixture(database);
  const code = 'abc';
  const index = firstIndexOf(visits) + partitionOf(code, topics.visits.partitions);
  const maxRecords = 10_000;
  let end: number;

  /** Visits of acme have the odd offsets; offset 4 is unreadable. */
  before(async () => {
    const records = Array.from({ length: 3_000 }, (_, offset) => {
      const account = offset % 2 === 1 ? 'acme' : 'acme-b';
      return recordOf(spooledVisit(code, { sequence: offset + 1, account }));
    });
    records[4] = { key: code, value: '{"account":"acme"}' };
    await node.log.append(visits, records);
    end = records.length;
  });

  const read = (
    from: number,
    limit: number,
    { records = maxRecords, to = end, filter = filterOf('acme') } = {},
  ): Promise<PartitionEvents> =>
    readVisits(node.log, filter, { index, from, end: to }, limit, records);

  it('are those of a bounded number of records', async () => {
    const found = await read(10, 1_000, { records: 5 });
    expect(offsetsOf(found)).to.deep.equal([11, 13]);
    expect(found).to.include({ scanned: 15, atEnd: false });
    const none = await read(10, 1_000, { records: 100, filter: filterOf('other') });
    expect(none).to.deep.equal({ index, events: [], scanned: 110, atEnd: false });
  });

  it('do not move a cursor back that is past the end', async () => {
    expect(await read(end, 10)).to.deep.equal({ index, events: [], scanned: end, atEnd: true });
    // The end is of a broker that lags behind.
    const found = await read(end, 10, { to: end - 5 });
    expect(found).to.deep.equal({ index, events: [], scanned: end, atEnd: true });
  });

  it('of a later version are an error, not a gap', async () => {
    const record = recordOf(spooledVisit(code, { sequence: 9_999, account: 'acme' }));
    const value = JSON.stringify({
      ...(JSON.parse(record.value) as object),
      type: 'linklog.LinkVisited.v99',
    });
    await node.log.append(visits, [{ key: code, value }]);
    expect(await rejection(read(end, 10, { to: end + 1 }))).to.be.instanceOf(UnknownEventType);
  });
});
