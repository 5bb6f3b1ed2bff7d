import { expect } from 'chai';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { topics } from '../../schemas/events/topics.js';
import {
  blocked,
  created,
  described,
  keyCreated,
  recordOf,
  spooledVisit,
} from '../../schemas/testing/events.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { deferred, type Deferred } from '../platform/concurrency/deferred.js';
import { createLogger } from '../platform/logging.js';
import {
  ForeignPosition,
  type EventLog,
  type NewRecord,
  type SubscribeOptions,
} from '../event-log/port.js';
import { eventually } from '../test/support/waiting.js';
import { firstIndexOf } from './cursor.js';
import { TopicHead } from './head.js';

const links = topics.links.name;
const partition = 3;
const index = firstIndexOf(links) + partition;

/** A log without records, whose subscriptions are in the hands of the test. */
const testLog = () => {
  const ends = Array.from({ length: topics.links.partitions }, () => 0);
  const subscriptions: { readonly options: SubscribeOptions; readonly done: Deferred<void> }[] = [];
  const failures: Error[] = [];
  const log: Pick<EventLog, 'ranges' | 'logId' | 'subscribe'> = {
    logId: (topic) => `log:${topic}`,
    ranges() {
      const failure = failures.shift();
      if (failure) return Promise.reject(failure);
      return Promise.resolve(ends.map((next, number) => ({ partition: number, first: 0, next })));
    },
    subscribe(options) {
      const done = deferred();
      subscriptions.push({ options, done });
      return {
        done: done.promise,
        stop: () => {
          done.resolve();
          return Promise.resolve();
        },
      };
    },
  };
  /** Delivers records to the last subscription, as a log does: from its position on. */
  const deliver = async (...records: readonly NewRecord[]): Promise<void> => {
    const subscription = subscriptions.at(-1);
    const position = await subscription?.options.position(links, partition);
    const from = position?.offset ?? 0;
    await subscription?.options.handle({
      ...{ topic: links, partition },
      records: records.map((record, at) => ({ ...record, offset: from + at })),
    });
    ends[partition] = Math.max(ends[partition] ?? 0, from + records.length);
  };
  return { log: log as EventLog, ends, subscriptions, failures, deliver };
};

const acme = { account: 'acme' };
const recordsOf = (...events: readonly LinklogEvent[]): readonly NewRecord[] =>
  events.map(recordOf);

describe('feed: reader at the head of a topic', () => {
  let given: ReturnType<typeof testLog>;
  let head: TopicHead;
  let wakes: number;

  beforeEach(() => {
    given = testLog();
    head = new TopicHead(links, given.log, createLogger('silent'));
    wakes = 0;
  });
  afterEach(() => head.stop());

  const join = (account = 'acme'): (() => void) =>
    head.join(account, () => {
      wakes += 1;
    });

  const isReading = async (count = 1): Promise<void> => {
    await eventually(`the reader has subscribed ${count} times`, () => {
      return given.subscriptions.length === count;
    });
  };

  const subjectsFrom = (from: number, account = 'acme'): readonly string[] | null =>
    head.eventsFrom(account, index, from)?.events.map(({ subject }) => subject) ?? null;

  it('has no events before it runs, and then wakes clients that have joined', async () => {
    expect(head.eventsFrom('acme', index, 0)).to.equal(null);
    join();
    expect(head.eventsFrom('acme', index, 0)).to.equal(null);
    await isReading();
    expect(wakes).to.equal(1);
  });

  it('starts at the end of the log; earlier events are not in memory', async () => {
    given.ends[partition] = 7;
    join();
    await isReading();
    expect(head.eventsFrom('acme', index, 6)).to.equal(null);
    for (const from of [7, 9]) {
      expect(head.eventsFrom('acme', index, from)).to.deep.equal({
        ...{ index, events: [], scanned: from, atEnd: true },
      });
    }
    await given.deliver(...recordsOf(created('abc', {}, acme), created('xyz', {}, acme)));
    expect(subjectsFrom(6)).to.equal(null);
    expect(subjectsFrom(7)).to.deep.equal(['abc', 'xyz']);
    expect(subjectsFrom(8)).to.deep.equal(['xyz']);
    expect(head.eventsFrom('acme', index, 7)?.scanned).to.equal(9);
    expect(head.eventsFrom('acme', index, 12)).to.include({ scanned: 12 });
  });

  it('runs once for all accounts and clients, and separates their events', async () => {
    join();
    join();
    join('other');
    await isReading();
    wakes = 0;
    await given.deliver(
      ...recordsOf(
        created('abc', {}, acme),
        created('xyz', {}, { account: 'other' }),
        created('unknown', {}, { account: 'unknown' }),
        created('none'),
      ),
    );
    expect(given.subscriptions).to.have.length(1);
    expect(subjectsFrom(0)).to.deep.equal(['abc']);
    expect(subjectsFrom(0, 'other')).to.deep.equal(['xyz']);
    expect(head.eventsFrom('unknown', index, 0)).to.equal(null);
    // Two clients of acme and one of the other account.
    expect(wakes).to.equal(3);
    expect(head.eventsFrom('acme', index, 0)?.scanned).to.equal(4);
  });

  it('buffers from the time that an account joins', async () => {
    join('other');
    await isReading();
    await given.deliver(...recordsOf(created('abc', {}, acme)));
    join();
    expect(subjectsFrom(0)).to.equal(null);
    expect(subjectsFrom(1)).to.deep.equal([]);
    await given.deliver(...recordsOf(blocked('abc', 2, acme)));
    expect(subjectsFrom(1)).to.deep.equal(['abc']);
  });

  it('reads the account of the event, not of its data', async () => {
    join();
    await isReading();
    wakes = 0;
    const nested = keyCreated('key-1', { account: 'acme' }, { account: 'other' });
    const without = { ...keyCreated('key-2', { account: 'acme' }), account: undefined };
    const quoted = described('abc', 2, { note: '"account":"acme"' }, { account: 'other' });
    const records = recordsOf(nested, quoted, spooledVisit('xyz'));
    await given.deliver(...records, { key: 'key-2', value: recordOf(without).value });
    expect(subjectsFrom(0)).to.deep.equal([]);
    expect(wakes).to.equal(0);
  });

  it('skips unreadable records', async () => {
    join();
    await isReading();
    const broken = recordOf(created('abc', {}, acme)).value.slice(0, -1);
    await given.deliver(
      { key: 'abc', value: broken },
      { key: 'abc', value: '{"account":"acme"}' },
      ...recordsOf(created('xyz', {}, acme)),
    );
    expect(subjectsFrom(0)).to.deep.equal(['xyz']);
  });

  it('waits at an event of a later version, without events of the failed batch', async () => {
    join();
    await isReading();
    const { value } = recordOf(created('new', {}, acme));
    const unknown = { key: 'new', value: value.replace('LinkCreated.v4', 'LinkCreated.v99') };
    const batch = [...recordsOf(created('abc', {}, acme)), unknown];
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const failure = await given.deliver(...batch).catch((error: unknown) => error);
      expect(failure).to.be.an('error').with.property('message').that.includes('LinkCreated.v99');
      expect(head.eventsFrom('acme', index, 0)).to.deep.equal({
        ...{ index, events: [], scanned: 0, atEnd: true },
      });
    }
    await given.deliver(...recordsOf(created('abc', {}, acme)));
    expect(subjectsFrom(0)).to.deep.equal(['abc']);
  });

  it('drops the oldest events beyond the bound of an account; other accounts keep theirs', async () => {
    join();
    join('other');
    await isReading();
    const others = created('other', {}, { account: 'other' });
    const many = Array.from({ length: 600 }, (_, number) => created(`code-${number}`, {}, acme));
    await given.deliver(...recordsOf(others, ...many));
    expect(subjectsFrom(0, 'other')).to.deep.equal(['other']);
    expect(subjectsFrom(100)).to.equal(null);
    expect(subjectsFrom(101)).to.have.length(500);
    expect(subjectsFrom(101)?.[0]).to.equal('code-100');
    const large = Array.from({ length: 4 }, (_, number) =>
      described(`large-${number}`, 2, { note: 'x'.repeat(150_000) }, acme),
    );
    await given.deliver(...recordsOf(...large));
    expect(subjectsFrom(601)).to.equal(null);
    expect(subjectsFrom(602)).to.deep.equal(['large-1', 'large-2', 'large-3']);
    await given.deliver(...recordsOf(described('huge', 2, { note: 'x'.repeat(600_000) }, acme)));
    expect(subjectsFrom(605)).to.equal(null);
    expect(subjectsFrom(606)).to.deep.equal([]);
  });

  it('drops the events of accounts without new ones beyond the bound of all accounts', async () => {
    const accounts = Array.from({ length: 80 }, (_, number) => `account-${number}`);
    for (const account of accounts) join(account);
    await isReading();
    const note = 'x'.repeat(450_000);
    for (const account of [...accounts, 'account-0']) {
      await given.deliver(...recordsOf(described('abc', 2, { note }, { account })));
    }
    const inMemory = accounts.filter((account) => subjectsFrom(0, account) !== null);
    // 71 events have 32 MB; that of account-0 came when it was not complete any more.
    expect(inMemory).to.deep.equal(accounts.slice(-70));
    expect(subjectsFrom(accounts.length, 'account-0')).to.deep.equal(['abc']);
    expect(subjectsFrom(accounts.length + 1, 'account-5')).to.deep.equal([]);
  });

  it('starts at the new end after a failure, without the events before, and wakes all clients', async () => {
    join();
    join('other');
    await isReading();
    await given.deliver(...recordsOf(created('abc', {}, acme)));
    wakes = 0;
    given.failures.push(new Error('the log is unreachable'));
    given.subscriptions[0]?.done.reject(new ForeignPosition('the log was cut'));
    given.ends[partition] = 5;
    await isReading(2);
    expect(wakes).to.equal(2);
    expect(subjectsFrom(0)).to.equal(null);
    expect(subjectsFrom(4)).to.equal(null);
    expect(subjectsFrom(5)).to.deep.equal([]);
    await given.deliver(...recordsOf(blocked('abc', 2, acme)));
    expect(subjectsFrom(5)).to.deep.equal(['abc']);
    // A batch of the first subscription is late.
    await given.subscriptions[0]?.options.handle({
      ...{ topic: links, partition },
      records: [{ ...recordOf(created('late', {}, acme)), offset: 1 }],
    });
    expect(subjectsFrom(5)).to.deep.equal(['abc']);
    expect(head.eventsFrom('acme', index, 5)?.scanned).to.equal(6);
  });

  it('keeps the events of an account until its last client leaves', async () => {
    const leave = [join(), join()];
    join('other');
    await isReading();
    await given.deliver(...recordsOf(created('abc', {}, acme)));
    leave[0]?.();
    leave[0]?.();
    expect(subjectsFrom(0)).to.deep.equal(['abc']);
    leave[1]?.();
    expect(head.eventsFrom('acme', index, 0)).to.equal(null);
    const again = join();
    // A second release of a former client.
    leave[1]?.();
    expect(subjectsFrom(1)).to.deep.equal([]);
    again();
  });

  it('stops, and starts again for the next client', async () => {
    join();
    await isReading();
    await head.stop();
    expect(head.eventsFrom('acme', index, 0)).to.equal(null);
    given.ends[partition] = 4;
    join();
    await isReading(2);
    expect(subjectsFrom(3)).to.equal(null);
    expect(subjectsFrom(4)).to.deep.equal([]);
    await head.stop();
    await nextIteration();
    expect(given.subscriptions).to.have.length(2);
  });

  it('stops while it starts', async () => {
    join();
    await head.stop();
    await nextIteration();
    expect(given.subscriptions).to.have.length(0);
  });
});
