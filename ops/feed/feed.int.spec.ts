import { expect } from 'chai';
import fc from 'fast-check';
import type { QueryConfig } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { history } from '../../projectors/history/projection.js';
import { type CatchUpTarget } from '../../projectors/runtime/catch-up.js';
import { rebuildDueProjections } from '../../projectors/runtime/rebuild.js';
import { startProjection } from '../../projectors/runtime/batch.js';
import { topics } from '../../schemas/events/topics.js';
import { feedEventNames, typesOfNames } from '../../schemas/feed.js';
import { rebuildDue } from '../platform/postgres/generation.js';
import {
  at,
  created,
  described,
  keyCreated,
  recordOf,
  spooledVisit,
  webhookCreated,
} from '../../schemas/testing/events.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { readEvent, topicOf } from '../../schemas/events/codec.js';
import { openKafkaLog } from '../event-log/kafka/kafka-log.js';
import { ForeignPosition, type EventLog, type Subscription } from '../event-log/port.js';
import { deferred, type Deferred } from '../platform/concurrency/deferred.js';
import { createLogger } from '../platform/logging.js';
import type { Pool } from '../platform/postgres/pool.js';
import { settingsOf } from '../test/conformance/event-log/kafka-harness.js';
import { fixture } from '../test/support/fixture.js';
import { databaseFixture, kafkaFixture } from '../test/support/fixtures.js';
import { testNode } from '../test/support/node.js';
import {
  appendTo,
  expectedEvents,
  guaranteedPart,
  namesOf,
  parseEvents,
  projectHistory,
  recordsOfRun,
  someSteps,
  type FeedRecord,
} from '../test/support/feed-records.js';
import { rejection } from '../test/support/waiting.js';
import type { TestDatabase } from '../test/support/database.js';
import { encodeCursor, feedPartitions, logIdentity, startCursor, type Cursor } from './cursor.js';
import { openFeed, type Feed, type Follower } from './feed.js';
import type { FeedEvent, FeedFilter } from './filter.js';
import { HistoryIncomplete, type PortionLimits } from './stored-events.js';

const logger = createLogger('silent');
const allTypes = typesOfNames(feedEventNames);
const plenty: PortionLimits = { events: 1_000, bytes: 1_000_000 };
/** Longer than a test: `next` must return because of events. */
const patientMs = 600_000;

const filterOf = (account: string, values: Partial<FeedFilter> = {}): FeedFilter => ({
  ...{ account, types: allTypes, subject: null, domain: null },
  ...values,
});

const bytesOf = (events: readonly FeedEvent[]): number =>
  events.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);

interface Given {
  readonly pool: Pool;
  readonly log: EventLog;
  close(): Promise<void>;
}

let runs = 0;
const newRun = (): number => {
  runs += 1;
  return runs;
};

const eventRecord = (event: LinklogEvent): FeedRecord => {
  const record = recordOf(event);
  return { ...record, topic: topicOf(event), event: readEvent(record.value) };
};

/** The records without those of the found events. */
const without = (
  found: readonly FeedEvent[],
  records: readonly FeedRecord[],
): readonly FeedRecord[] => {
  const names = new Set(parseEvents(found).map(({ source, id }) => `${source} ${id}`));
  return records.filter(({ event }) => event === null || !names.has(`${event.source} ${event.id}`));
};

const someLimits = fc.array(
  fc.record({
    events: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant(1_000)),
    bytes: fc.oneof(fc.integer({ min: 1, max: 3_000 }), fc.constant(1_000_000)),
  }),
  { minLength: 1, maxLength: 4 },
);

/** Filters by the names of a run. */
const someFilter = fc
  .record({
    account: fc.nat(2),
    names: fc.oneof(fc.constant([...feedEventNames]), fc.subarray([...feedEventNames])),
    link: fc.option(fc.nat(5), { nil: null }),
    // The last one is the default domain.
    domain: fc.option(fc.nat(2), { nil: null }),
  })
  .map(({ account, names, link, domain }) => (run: number): FeedFilter => {
    const { accounts, links, domains } = namesOf(run);
    return {
      account: accounts[account] ?? '',
      types: typesOfNames(names),
      subject: link === null ? null : (links[link] ?? ''),
      domain: domain === null ? null : (domains[domain] ?? ''),
    };
  });

const unreachable = new Error('the log is unreachable');

/** A log whose subscriptions and ranges a test can let fail. */
const breakable = (log: EventLog) => {
  const running = new Map<Subscription, Deferred<never>>();
  let failures = 0;
  const own: EventLog = {
    ...log,
    logId: (topic) => log.logId(topic),
    ranges(topic) {
      if (failures === 0) return log.ranges(topic);
      failures -= 1;
      return Promise.reject(unreachable);
    },
    subscribe(options) {
      const subscription = log.subscribe(options);
      const broken = deferred<never>();
      running.set(subscription, broken);
      return {
        done: Promise.race([subscription.done, broken.promise]),
        stop: () => subscription.stop(),
      };
    },
  };
  return {
    log: own,
    /** Ends all subscriptions with a permanent failure; then `count` calls of `ranges` fail. */
    async fail(count: number): Promise<void> {
      failures = count;
      const ended = [...running];
      running.clear();
      for (const [subscription, broken] of ended) {
        broken.reject(new ForeignPosition('the log was cut'));
        await subscription.stop();
      }
    },
  };
};

const describeFeed = (
  title: string,
  { open, numRuns }: { readonly open: () => () => Promise<Given>; readonly numRuns: number },
): void => {
  describe(`feed ${title}`, function () {
    this.timeout(60_000);
    const given = fixture(open(), (opened) => opened.close());
    const feeds: Feed[] = [];
    const followers: Follower[] = [];

    const openTestFeed = (log: EventLog = given.log): Feed => {
      const feed = openFeed({ pool: given.pool, log, logger });
      feeds.push(feed);
      return feed;
    };

    const follow = (feed: Feed, filter: FeedFilter, from: Cursor, limits = plenty): Follower => {
      const follower = feed.follow(filter, from, limits);
      followers.push(follower);
      return follower;
    };

    afterEach(async () => {
      for (const follower of followers.splice(0)) follower.close();
      for (const feed of feeds.splice(0)) await feed.stop();
      await projectHistory(given.pool, given.log);
    });

    const append = (...events: readonly LinklogEvent[]): Promise<void> =>
      appendTo(given.log, events.map(eventRecord));
    const project = (targets?: readonly CatchUpTarget[]): Promise<void> =>
      projectHistory(given.pool, given.log, targets);

    /** The cursor as another process reads it. */
    const passedOn = async (feed: Feed, cursor: Cursor): Promise<Cursor> => {
      const decoded = await openTestFeed().decode(feed.encode(cursor));
      if (typeof decoded === 'string') throw new Error(`the cursor is ${decoded}`);
      expect(decoded).to.deep.equal(cursor);
      return decoded;
    };

    /** Reads portions to the end, and checks each of them. */
    const readAll = async (
      filter: FeedFilter,
      from: Cursor,
      limits: readonly PortionLimits[] = [plenty],
    ): Promise<{ readonly events: readonly FeedEvent[]; readonly next: Cursor }> => {
      const feed = openTestFeed();
      const events: FeedEvent[] = [];
      let cursor = from;
      for (let count = 0; ; count += 1) {
        const limit = limits[count % limits.length] ?? plenty;
        const portion = await feed.read(filter, cursor, limit);
        expect(portion.events.length).to.be.at.most(limit.events);
        if (portion.events.length > 1) {
          expect(bytesOf(portion.events)).to.be.at.most(limit.bytes);
        }
        for (const { index, offset } of portion.events) {
          expect(offset).to.be.within(cursor[index] ?? 0, (portion.next[index] ?? 0) - 1);
        }
        const moved = portion.next.map((offset, index) => offset - (cursor[index] ?? 0));
        expect(Math.min(...moved), 'no partition moves back').to.be.at.least(0);
        if (!portion.atEnd) expect(Math.max(...moved), 'a portion moves').to.be.above(0);
        expect(portion.skipped).to.be.at.least(0);
        events.push(...portion.events);
        cursor = await passedOn(feed, portion.next);
        if (portion.atEnd) break;
      }
      expect(await feed.read(filter, cursor, plenty)).to.deep.equal({
        ...{ events: [], next: cursor, atEnd: true, skipped: 0 },
      });
      return { events, next: cursor };
    };

    const expectExactly = (
      found: readonly FeedEvent[],
      filter: FeedFilter,
      records: readonly FeedRecord[],
    ): void => {
      const expected = expectedEvents(filter, records);
      expect(guaranteedPart(parseEvents(found))).to.deep.equal(guaranteedPart(expected));
      expect(found).to.have.length(expected.length);
    };

    describe('in portions', () => {
      it('has exactly the events of the account and filter, with any limits and stops', async () => {
        await fc.assert(
          fc.asyncProperty(
            ...[someSteps(1, 60), someSteps(0, 20), someFilter, someLimits],
            async (steps, laterSteps, toFilter, limits) => {
              const run = newRun();
              const filter = toFilter(run);
              const toRecords = recordsOfRun(run);
              const records = toRecords(steps);
              await appendTo(given.log, records);
              await project();
              const first = await readAll(filter, startCursor, limits);
              expectExactly(first.events, filter, records);
              // The cursor of the end stays valid.
              const later = toRecords(laterSteps);
              await appendTo(given.log, later);
              await project();
              const second = await readAll(filter, first.next, limits);
              expectExactly(second.events, filter, later);
            },
          ),
          { numRuns },
        );
      });

      it('has events since a time that the history lacks when the cursor is requested', async () => {
        const run = newRun();
        const [account] = namesOf(run).accounts;
        const subjects = Array.from({ length: 4 }, (_, index) => `since-${index}-${run}`);
        const events = subjects.map((subject, index) =>
          created(subject, {}, { account, time: at(index) }),
        );
        await append(...events.slice(0, 2));
        await project();
        await append(...events.slice(2));
        const cursor = await openTestFeed().cursorAt(filterOf(account), at(1));
        await project();
        const { events: found } = await readAll(filterOf(account), cursor);
        expect(found.map(({ subject }) => subject)).to.include.members(subjects.slice(1));
      });

      it('has the events of all partitions by time', async () => {
        const run = newRun();
        const [account] = namesOf(run).accounts;
        const seconds = [5, 3, 8, 1, 9, 2, 7, 4, 6, 0];
        await append(
          ...seconds.map((second) =>
            created(`l${second}-${run}`, {}, { account, time: at(second) }),
          ),
          keyCreated(`key-${run}`, {}, { account, time: at(4.5) }),
          spooledVisit(`l1-${run}`, { spool: `spool-${run}`, account, time: at(2.5) }),
        );
        await project();
        const { events } = await openTestFeed().read(filterOf(account), startCursor, plenty);
        // Each event is the earliest of the next ones of all partitions.
        for (const [number, { index, time }] of events.entries()) {
          const later = events.slice(number + 1);
          for (const other of new Set(later.map((event) => event.index))) {
            const next = later.find((event) => event.index === other);
            if (other !== index) expect(time <= (next?.time ?? '')).to.equal(true);
          }
        }
      });

      it('reads hardly more rows than it returns', async () => {
        const run = newRun();
        const [account] = namesOf(run).accounts;
        const codes = Array.from({ length: 400 }, (_, index) => `r${index}-${run}`);
        await append(...codes.map((code) => created(code, {}, { account })));
        await project();
        let rows = 0;
        const query = async (statement: QueryConfig) => {
          const result = await given.pool.query(statement);
          rows += result.rows.length;
          return result;
        };
        const pool = Object.create(given.pool, { query: { value: query } }) as Pool;
        const feed = openFeed({ ...given, pool, logger });
        feeds.push(feed);
        const { events } = await feed.read(filterOf(account), startCursor, {
          ...plenty,
          events: 40,
        });
        expect(events).to.have.length(40);
        expect(rows).to.be.within(40, 60);
      });

      it('counts the visits of other accounts that it has read', async () => {
        const run = newRun();
        const [account, other] = namesOf(run).accounts;
        const [code] = namesOf(run).links;
        const feed = openTestFeed();
        const from = await feed.ends();
        await append(
          ...[created(code, {}, { account }), keyCreated(`key-${run}`, {}, { account })],
          ...Array.from({ length: 10 }, (_, index) =>
            spooledVisit(code, {
              ...{ spool: `spool-${run}`, sequence: index + 1 },
              account: index % 5 === 0 ? account : other,
            }),
          ),
        );
        await project();
        expect(await feed.read(filterOf(account), from, plenty)).to.include({ skipped: 8 });
        const types = typesOfNames(['LinkCreated']);
        expect(await feed.read(filterOf(account, { types }), from, plenty)).to.include({
          skipped: 0,
        });
      });
    });

    it('rejects cursors beyond the end, of another log, and malformed ones', async () => {
      const feed = openTestFeed();
      const ends = await feed.ends();
      expect(ends).to.have.length(feedPartitions.length);
      expect(await feed.decode(feed.encode(ends))).to.deep.equal(ends);
      for (const [index, end] of ends.entries()) {
        const beyond = feed.encode(ends.with(index, end + 1));
        expect(await feed.decode(beyond), `partition ${index}`).to.equal('foreign');
      }
      const other = encodeCursor(logIdentity(['another log']), startCursor);
      expect(await feed.decode(other)).to.equal('foreign');
      expect(await feed.decode('start')).to.equal('malformed');
    });

    describe('with a history that is due for a rebuild', () => {
      it('is incomplete until the rebuild', async () => {
        const run = newRun();
        const records = recordsOfRun(run)(fc.sample(someSteps(40, 40), 1)[0] ?? []);
        await appendTo(given.log, records);
        await project();
        const filter = filterOf(namesOf(run).accounts[0]);
        const feed = openTestFeed();
        const before = await readAll(filter, startCursor);
        // Rows of an earlier version.
        await given.pool.query(
          `COMMENT ON SCHEMA projection_history IS '${rebuildDue}';
           UPDATE projection_history.events SET record_offset = -1`,
        );
        const failures = [
          await rejection(feed.read(filter, startCursor, plenty)),
          await rejection(follow(feed, filter, startCursor).next(patientMs)),
        ];
        for (const failure of failures) {
          expect(failure).to.be.instanceOf(HistoryIncomplete).and.include({
            code: 'HISTORY_INCOMPLETE',
          });
        }
        const visits = filterOf(filter.account, { types: typesOfNames(['LinkVisited']) });
        expectExactly((await readAll(visits, startCursor)).events, visits, records);
        const signal = new AbortController().signal;
        await rebuildDueProjections({ ...given, logger, projections: [history], signal });
        expect(await readAll(filter, startCursor)).to.deep.equal(before);
      });
    });

    describe('with followers', () => {
      /** The next events; a client repeats the call after a failure of the log. */
      const nextEvents = async (follower: Follower): Promise<readonly FeedEvent[]> => {
        for (;;) {
          try {
            return await follower.next(patientMs);
          } catch (error) {
            if (error !== unreachable) throw error;
            await sleep(5);
          }
        }
      };

      /** Reads until the follower has all events of its filter among the records. */
      const readUntilComplete = async (
        follower: Follower,
        filter: FeedFilter,
        records: readonly FeedRecord[],
        eachTime: () => Promise<unknown> = () => Promise.resolve(),
      ): Promise<readonly FeedEvent[]> => {
        const expected = guaranteedPart(expectedEvents(filter, records));
        const total = Object.values(expected).flat().length;
        const found: FeedEvent[] = [];
        const size = (): number => Object.values(guaranteedPart(parseEvents(found))).flat().length;
        while (size() < total) {
          const events = await nextEvents(follower);
          if (events.length === 0) throw new Error('the follower was closed');
          found.push(...events);
          await eachTime();
        }
        expect(guaranteedPart(parseEvents(found))).to.deep.equal(expected);
        return found;
      };

      /** Waits until the shared readers run: a follower gets events of links and accounts that are not projected. */
      const readersRun = async (feed: Feed): Promise<void> => {
        const missing = new Set<string>([topics.links.name, topics.accounts.name]);
        while (missing.size > 0) {
          const run = newRun();
          const account = `probe-${run}`;
          // Its cursor is not before the events in memory if the readers run.
          const probe = follow(feed, filterOf(account), await openTestFeed().ends());
          const codes = Array.from({ length: 30 }, (_, index) => `p${index}-${run}`);
          await append(
            ...codes.map((code) => created(code, {}, { account })),
            webhookCreated(`hook-${run}`, {}, { account }),
          );
          for (let events = await probe.next(500); events.length > 0;) {
            for (const event of parseEvents(events)) missing.delete(topicOf(event));
            events = await probe.next(0);
          }
          probe.close();
        }
      };

      /** Waits until a follower with the current end as its cursor reads from memory. */
      const isAtHead = async (feed: Feed, follower: Follower): Promise<void> => {
        await readersRun(feed);
        await project();
        expect(await follower.next(0)).to.deep.equal([]);
      };

      it('returns nothing after its time, and after it is closed', async () => {
        const feed = openTestFeed();
        const run = newRun();
        const follower = follow(feed, filterOf(namesOf(run).accounts[0]), await feed.ends());
        expect(await follower.next(0)).to.deep.equal([]);
        expect(await follower.next(300)).to.deep.equal([]);
        const waiting = follower.next(patientMs);
        follower.close();
        follower.close();
        expect(await waiting).to.deep.equal([]);
        expect(await follower.next(patientMs)).to.deep.equal([]);
      });

      it('returns every event while others are appended and projected, from any cursor', async () => {
        await fc.assert(
          fc.asyncProperty(
            ...[someSteps(1, 40), someSteps(20, 60), someFilter, someLimits, fc.nat(40)],
            async (steps, laterSteps, toFilter, limits, read) => {
              const run = newRun();
              const filter = toFilter(run);
              const toRecords = recordsOfRun(run);
              const records = toRecords(steps);
              const later = toRecords(laterSteps);
              await appendTo(given.log, records);
              await project();
              const feed = openTestFeed();
              const portion = await feed.read(filter, startCursor, { ...plenty, events: 1 + read });
              const from = await passedOn(feed, portion.next);
              const remaining = without(portion.events, records);
              const projection = startProjection({ ...given, logger, projection: history });
              const followed = [
                follow(feed, filter, from, limits[0]),
                follow(openTestFeed(), filter, from),
              ];
              const writing = (async () => {
                for (let at = 0; at < later.length; at += 7) {
                  await appendTo(given.log, later.slice(at, at + 7));
                  await sleep(5);
                }
              })();
              const appended = [...remaining, ...later];
              const found = await Promise.all(
                followed.map((follower, index) =>
                  readUntilComplete(follower, filter, appended, () => sleep(index)),
                ),
              );
              await writing;
              await projection.stop();
              for (const events of found) expectExactly(events, filter, appended);
              for (const follower of followed) follower.close();
            },
          ),
          { numRuns: Math.ceil(numRuns / 5) },
        );
      });

      it('returns the same portions to streams of a filter, whenever they started', async () => {
        const feed = openTestFeed();
        const run = newRun();
        const [account] = namesOf(run).accounts;
        const [code] = namesOf(run).links;
        const filter = filterOf(account, { types: typesOfNames(['LinkCreated']) });
        const streams: Follower[] = [];
        for (const sequence of [1, 2]) {
          await append(spooledVisit(code, { spool: `spool-${run}`, sequence, account }));
          const stream = feed.follow(filter, await feed.ends(), plenty, true);
          streams.push(stream);
          followers.push(stream);
          await isAtHead(feed, stream);
        }
        for (const stream of streams) expect(await stream.next(0)).to.deep.equal([]);
        const portions = Promise.all(streams.map((stream) => stream.next(patientMs)));
        await append(created(code, {}, { account }));
        const [first, second] = await portions;
        expect(first).to.have.length(1).and.to.equal(second);
        expect(streams[1]?.cursor).to.deep.equal(streams[0]?.cursor);
      });

      it('reads a portion of stored events once for streams that start shortly after each other', async () => {
        const feed = openTestFeed();
        const run = newRun();
        const [account] = namesOf(run).accounts;
        const [code] = namesOf(run).links;
        const later = Array.from({ length: 600 }, (_, index) =>
          described(code, index + 2, { note: '' }, { account }),
        );
        await append(created(code, {}, { account }), ...later);
        await project();
        const filter = filterOf(account, { types: typesOfNames(['LinkCreated', 'LinkDescribed']) });
        const read = async () => {
          const stream = feed.follow(filter, startCursor, plenty, true);
          followers.push(stream);
          const portions: (readonly FeedEvent[])[] = [];
          while (portions.flat().length <= later.length) {
            portions.push(await stream.next(patientMs));
          }
          return portions;
        };
        const first = read();
        await sleep(20);
        const [leading, second] = await Promise.all([first, read()]);
        expect(leading.flat()).to.have.length(later.length + 1);
        expect(leading.length).to.be.above(2);
        for (const [at, portion] of leading.entries()) expect(second[at]).to.equal(portion);
      });

      it('loses nothing if it is slower than the events in memory are replaced', async () => {
        const feed = openTestFeed();
        const run = newRun();
        const [account] = namesOf(run).accounts;
        const [code] = namesOf(run).links;
        const filter = filterOf(account);
        const first = created(code, {}, { account });
        const limits = { events: 40, bytes: 20_000 };
        const follower = follow(feed, filter, await feed.ends(), limits);
        await isAtHead(feed, follower);
        const later = Array.from({ length: 1_300 }, (_, index) =>
          index % 2 === 0
            ? described(code, index / 2 + 2, { note: '' }, { account, time: at(index) })
            : spooledVisit(code, {
                ...{ spool: `spool-${run}`, sequence: index, account, time: at(index) },
              }),
        );
        const records = [first, ...later].map(eventRecord);
        await append(first);
        const found = [...(await follower.next(patientMs))];
        expect(parseEvents(found).map(({ id }) => id)).to.deep.equal([first.id]);
        for (const { name } of [topics.links, topics.visits]) {
          await append(...later.filter((event) => topicOf(event) === name));
        }
        const reading = readUntilComplete(follower, filter, records.slice(1), () => sleep(1));
        await project();
        found.push(...(await reading));
        expectExactly(found, filter, records);
      });

      it('loses nothing if the shared reader fails and starts again', async () => {
        const failing = breakable(given.log);
        const feed = openTestFeed(failing.log);
        const run = newRun();
        const filter = filterOf(namesOf(run).accounts[0]);
        const follower = follow(feed, filter, await feed.ends());
        await isAtHead(feed, follower);
        const toRecords = recordsOfRun(run);
        const appended: FeedRecord[] = [];
        const found: FeedEvent[] = [];
        for (const failures of [0, 2]) {
          const reading = nextEvents(follower);
          await failing.fail(failures);
          const records = toRecords(fc.sample(someSteps(60, 60), 1)[0] ?? []);
          await appendTo(given.log, records);
          await project();
          appended.push(...records);
          found.push(...(await reading));
          const remaining = without(found, appended);
          found.push(...(await readUntilComplete(follower, filter, remaining)));
        }
        expectExactly(found, filter, appended);
        await isAtHead(feed, follower);
        // These events are not projected.
        const records = toRecords(fc.sample(someSteps(60, 60), 1)[0] ?? []);
        await appendTo(given.log, records);
        await readUntilComplete(follower, filter, records);
      });
    });
  });
};

describeFeed('on the embedded log', {
  numRuns: 30,
  open() {
    const database = databaseFixture('feed');
    return () => testNode(database);
  },
});

const openOnKafka = (): (() => Promise<Given>) => {
  const database: TestDatabase = databaseFixture('feed');
  const kafka = kafkaFixture('feed');
  return async () => {
    const log = openKafkaLog({ settings: settingsOf(kafka), logger });
    await log.ready;
    return { pool: database.pool, log, close: () => log.close() };
  };
};

describeFeed('on Kafka', { numRuns: 5, open: openOnKafka });
