import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { topics, type TopicName } from '../../../schemas/events/topics.js';
import { collectLogLines } from '../../test/support/log-lines.js';
import { eventually, eventuallyPasses, endsWithin } from '../../test/support/waiting.js';
import { codeIn, eventIn, newCode } from '../../test/conformance/event-log/events.js';
import { notify } from '../../test/support/notify.js';
import type { EventLog, NewRecord, PartitionRange } from '../port.js';
import { partitionOf } from '../partition.js';
import { createLogger } from '../../platform/logging.js';
import { listenToPostgres } from '../../platform/postgres/listener.js';
import { execute, transaction } from '../../platform/postgres/pool.js';
import type { OutboxPosition } from './port.js';
import { openRelayedDelivery } from './relayed-delivery.js';
import {
  checkSent,
  pruneSent,
  saveRelayCheckpoints,
  sendAgain,
  sentThrough,
  startRelay,
  type ProjectedEvents,
} from './relay.js';
import { deferred } from '../../platform/concurrency/deferred.js';
import { fixture } from '../../test/support/fixture.js';
import { databaseFixture, ledgerFixture } from '../../test/support/fixtures.js';

const links = topics.links.name;
const logger = createLogger('silent');

class ControlledLog implements Pick<EventLog, 'append' | 'ranges'> {
  readonly records: (NewRecord & { readonly topic: TopicName })[] = [];
  before: (topic: TopicName) => Promise<void> = () => Promise.resolve();

  async append(topic: TopicName, records: readonly NewRecord[]): Promise<void> {
    await this.before(topic);
    this.records.push(...records.map((record) => ({ topic, ...record })));
  }

  ranges(topic: TopicName): Promise<readonly PartitionRange[]> {
    const count = Object.values(topics).find(({ name }) => name === topic)?.partitions ?? 0;
    return Promise.resolve(
      Array.from({ length: count }, (_, partition) => ({
        partition,
        first: 0,
        next: this.records.filter(
          (record) => record.topic === topic && partitionOf(record.key, count) === partition,
        ).length,
      })),
    );
  }

  sequencesOf(subject: string): number[] {
    return this.records
      .filter(({ key }) => key === subject)
      .map(({ value }) => Number((JSON.parse(value) as { sequence: string }).sequence));
  }
}

describe('platform: relay from the outbox to the log proper', () => {
  const database = databaseFixture('relay');
  const node = ledgerFixture(database);
  const listener = fixture(
    () => listenToPostgres(database.url, ['linklog_log', 'linklog_sent'], logger),
    (listener) => listener.close(),
  );
  const delivery = fixture(
    () => openRelayedDelivery({ pool: node.pool, listener }),
    (delivery) => {
      delivery.stop();
    },
  );
  const log = fixture(() => new ControlledLog(), undefined, { per: 'test' });
  let relays: ReturnType<typeof startRelay>[] = [];

  afterEach(async () => {
    await Promise.all(relays.map((relay) => relay.stop()));
    relays = [];
  });

  /** Projections that have applied nothing yet, unless a test says more. */
  let projected: ProjectedEvents;

  beforeEach(() => {
    projected = {
      appliedThrough: () => Promise.resolve(-1),
      setAside: () => Promise.resolve([]),
      states: (_topic, _partition, events) => Promise.resolve(events.map(() => 'absent')),
    };
  });

  /** Of the relays of all tests. */
  let rounds = 0;
  const relayTo = (
    target: Pick<EventLog, 'append' | 'ranges'> = log,
    logTo = logger,
  ): ReturnType<typeof startRelay> => {
    const { url } = database;
    const relay = startRelay({
      mayBegin: () => {
        rounds += 1;
        return Promise.resolve();
      },
      projected,
      pool: node.pool,
      url,
      listener,
      log: target as EventLog,
      logger: logTo,
    });
    relays.push(relay);
    return relay;
  };

  const record = (...events: readonly LinklogEvent[]): Promise<OutboxPosition> =>
    transaction(node.pool, (tx) => execute(tx, node.outbox.record(events)));

  const history = (code: string, count: number): LinklogEvent[] =>
    Array.from({ length: count }, (_, index) => eventIn(links, code, index + 1));

  it('sends recorded events in order, and notifies waiting callers', async () => {
    relayTo();
    const codes = [newCode(), newCode(), newCode()];
    for (const code of codes) {
      const outboxPosition = await record(...history(code, 5));
      expect(await delivery.published(outboxPosition, 10_000)).to.be.true;
      expect(log.sequencesOf(code)).to.deep.equal([1, 2, 3, 4, 5]);
    }
    expect(await delivery.hasPublishedFirst(links, codes)).to.be.true;
    expect((await delivery.stalled()).areNone).to.be.true;
  });

  it('publishes nothing without a relay, and then reports a stall', async () => {
    const code = newCode();
    // After a jump of the clock, the times of events lag behind.
    const time = new Date(Date.now() - 60_000).toISOString();
    const outboxPosition = await record({ ...eventIn(links, code), time });
    expect((await delivery.stalled()).areNone).to.be.true;
    expect(await delivery.published(outboxPosition, 50)).to.be.false;
    expect(await delivery.hasPublishedFirst(links, [newCode(), code])).to.be.false;
    await eventually('it is stalled', async () => !(await delivery.stalled()).areNone);
    // Neither what is somewhere else, nor nothing.
    expect(await delivery.hasPublishedFirst(links, [newCode()])).to.be.true;
    expect(await delivery.hasPublishedFirst(links, [])).to.be.true;
    expect(await delivery.published([], 0)).to.be.true;
    relayTo();
    expect(await delivery.published(outboxPosition, 10_000)).to.be.true;
    await eventually('it is stalled no more', async () => (await delivery.stalled()).areNone);
  });

  it('reports nothing as published for a notification that no relay sent, whatever its payload', async () => {
    const [sent = { partitionId: 0, next: 0 }] = await record(eventIn(links, newCode()));
    const published = delivery.published([sent], 60_000);
    for (const payload of [`[[${sent.partitionId},999999999]]`, 'hello', '', 'null', '[[1]]']) {
      const received = deferred();
      const unsubscribe = listener.on('linklog_sent', () => {
        received.resolve();
      });
      await notify(node.pool, 'linklog_sent', [payload]);
      await received.promise;
      unsubscribe();
      expect(await endsWithin(published, 200), payload).to.equal(false);
    }
    relayTo();
    expect(await published).to.equal(true);
  });

  it('retries a failed append together with later events, in order', async () => {
    let failures = 0;
    log.before = () => {
      failures += 1;
      return failures <= 3 ? Promise.reject(new Error('Not this time')) : Promise.resolve();
    };
    relayTo();
    const code = newCode();
    const positions = [
      await record(eventIn(links, code, 1)),
      await record(eventIn(links, code, 2)),
    ];
    expect(await delivery.published(positions.flat(), 10_000)).to.be.true;
    expect(log.sequencesOf(code)).to.deep.equal([1, 2]);
  });

  it('sends nothing twice while a read-only PostgreSQL cannot record what was sent', async () => {
    const { logger: logTo, lines } = collectLogLines();
    const operator = await database.pool.connect();
    const setReadOnly = async (state: 'on' | 'off'): Promise<void> => {
      const name = new URL(database.url).pathname.slice(1);
      await operator.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${state}`);
      await operator.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'linklog test node'`);
    };
    const code = newCode();
    try {
      let isFirst = true;
      log.before = async () => {
        if (isFirst) await setReadOnly('on');
        isFirst = false;
      };
      const outboxPosition = await record(eventIn(links, code, 1));
      relayTo(log, logTo);
      await eventually('recording fails', () => lines.length > 0);
      const failedRounds = rounds;
      await eventually('recording fails again', () => rounds > failedRounds + 2);
      expect(await delivery.published(outboxPosition, 0)).to.be.false;
      await setReadOnly('off');
      expect(await delivery.published(outboxPosition, 10_000)).to.be.true;
      expect(log.sequencesOf(code)).to.deep.equal([1]);
    } catch (error) {
      // After a success, this would end the connections of the next test.
      await setReadOnly('off');
      throw error;
    } finally {
      operator.release();
    }
  });

  it('counts all partitions as stalled while the log does not respond', async () => {
    let isReachable = false;
    const own = await openRelayedDelivery({
      ...{ pool: node.pool, listener },
      isReachable: () => Promise.resolve(isReachable),
    });
    expect((await own.stalled()).areNone).to.be.true;
    const code = codeIn(links, 2);
    const position = await record(eventIn(links, code));
    await eventually('it is stalled', async () => !(await own.stalled()).areNone);
    expect((await own.stalled()).includesAll(topics.usage.name)).to.be.true;
    isReachable = true;
    await eventually('others are not', async () => !(await own.stalled()).includesAll(links));
    expect((await own.stalled()).includes(links, code)).to.be.true;
    relayTo();
    expect(await own.published(position, 10_000)).to.be.true;
    own.stop();
  });

  for (const [how, append] of [
    ['fail', () => Promise.reject(new Error('No leader'))],
    ['do not end', () => new Promise<never>(() => undefined)],
  ] as const) {
    it(`continues with other partitions of a topic while the appends of one ${how}`, async () => {
      const isStuck = ({ key }: NewRecord): boolean => partitionOf(key, 8) === 5;
      let isBroken = true;
      const partial = {
        ranges: (topic: TopicName) => log.ranges(topic),
        append: (topic: TopicName, records: readonly NewRecord[]) =>
          isBroken && records.some(isStuck) ? append() : log.append(topic, records),
      };
      const relay = relayTo(partial);
      const [stuck, other] = [codeIn(links, 5), codeIn(links, 6)];
      const position = await record(eventIn(links, stuck, 1), eventIn(links, other, 1));
      const own = node.outbox.positionOf([eventIn(links, other, 1)], position);
      expect(own).to.have.length(1);
      expect(await delivery.published(own, 10_000)).to.be.true;
      await eventually('the partition is stalled', async () =>
        (await delivery.stalled()).includes(links, stuck),
      );
      for (const sequence of [2, 3]) {
        const next = await record(eventIn(links, other, sequence));
        expect(await delivery.published(next, 10_000)).to.be.true;
      }
      const stalled = await delivery.stalled();
      expect(stalled.includes(links, other)).to.be.false;
      expect(stalled.includesAll(links)).to.be.false;
      expect(await delivery.published(position, 0)).to.be.false;
      // The append that does not end stays in the stopped relay.
      await relay.stop();
      isBroken = false;
      relayTo(partial);
      expect(await delivery.published(position, 10_000)).to.be.true;
      expect(log.sequencesOf(other)).to.deep.equal([1, 2, 3]);
      expect(log.sequencesOf(stuck)).to.deep.equal([1]);
    });
  }

  it('runs in one process at a time; another one takes over when its connection is lost', async () => {
    const second = new ControlledLog();
    relayTo();
    const code = newCode();
    await delivery.published(await record(eventIn(links, code, 1)), 10_000);
    relayTo(second);
    await delivery.published(await record(eventIn(links, code, 2)), 10_000);
    expect(second.records).to.be.empty;
    const [first] = relays.splice(0, 1);
    expect(first?.isActive()).to.be.true;
    await first?.stop();
    expect(first?.isActive()).to.be.false;
    await delivery.published(await record(eventIn(links, code, 3)), 10_000);
    expect(log.sequencesOf(code)).to.deep.equal([1, 2]);
    expect(second.sequencesOf(code)).to.deep.equal([3]);
    await node.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'linklog relay'`,
    );
    expect(await delivery.published(await record(eventIn(links, code, 4)), 10_000)).to.be.true;
    expect(second.sequencesOf(code)).to.deep.equal([3, 4]);
  });

  it('only repeats events of a relay that has lost its lock', async () => {
    const code = codeIn(links, 1);
    const gate = deferred();
    let holding = true;
    let sends = 0;
    log.before = () => {
      sends += 1;
      return holding ? gate.promise : Promise.resolve();
    };
    relayTo();
    await record(...history(code, 3));
    await eventually('it is being sent', () => sends > 0);
    // The lock is free with the connection; what is being sent is not stopped by that.
    const [zombie] = relays.splice(0, 1);
    await zombie?.stop();
    holding = false;
    relayTo();
    const outboxPosition = await record(eventIn(links, code, 4));
    expect(await delivery.published(outboxPosition, 10_000)).to.be.true;
    gate.resolve();
    await eventually('the zombie has sent it', () => log.sequencesOf(code).length >= 7);
    expect(log.sequencesOf(code)).to.deep.equal([1, 2, 3, 4, 1, 2, 3]);
    // The late mark of a zombie takes nothing back.
    await sleep(100);
    expect(await delivery.hasPublishedFirst(links, [code])).to.be.true;
  });

  it('saves its progress without waiting for a transaction that appends', async () => {
    const { rows } = await node.pool.query<{ id: number }>('SELECT id FROM log.partitions');
    await transaction(node.pool, async (tx) => {
      await tx.query('SELECT FROM log.partitions FOR UPDATE');
      const sent = rows.map(({ id }) => ({ partitionId: id, topic: links, next: 0 }));
      const saved = saveRelayCheckpoints(node.pool, log, sent).then(() => true);
      expect(await endsWithin(saved, 5_000)).to.equal(true);
    });
  });

  it('stops immediately, also while the log does not respond', async () => {
    const gate = deferred();
    log.before = () => gate.promise;
    const relay = relayTo();
    const outboxPosition = await record(eventIn(links, newCode()));
    await sleep(300);
    expect(await endsWithin(relay.stop(), 3_000)).to.be.true;
    gate.resolve();
    relayTo(new ControlledLog());
    expect(await delivery.published(outboxPosition, 10_000)).to.be.true;
  });

  describe('what was sent', () => {
    const eventsIn = async (code: string): Promise<number> => {
      const { rows } = await node.pool.query('SELECT FROM log.events WHERE key = $1', [code]);
      return rows.length;
    };
    const age = (): Promise<unknown> =>
      node.pool.query(`UPDATE log.relay_checkpoints SET saved_at = saved_at - interval '25 hours'`);

    it('is deleted a day later, when all projections have applied it', async () => {
      await node.pool.query('DELETE FROM log.relay_checkpoints');
      const relay = relayTo();
      const code = codeIn(links, 6);
      const outboxPosition = await record(...history(code, 3));
      expect(await delivery.published(outboxPosition, 10_000)).to.be.true;
      // It would save checkpoints of its own.
      await relay.stop();
      const [{ partitionId, next } = { partitionId: 0, next: 0 }] = outboxPosition;
      const saveAt = (offset: number) =>
        saveRelayCheckpoints(node.pool, log, [{ partitionId, topic: links, next: offset }]);
      const through = () => sentThrough(node.pool, links, 6);
      // The relay's last checkpoint may still be on its way.
      await eventuallyPasses(async () => {
        await node.pool.query('DELETE FROM log.relay_checkpoints');
        await saveAt(next + 1);
        expect(await through(), 'what this database has not sent').to.equal(0);
      });
      await saveAt(next);
      expect(await through()).to.equal((await log.ranges(links))[6]?.next);
      const unsent = await record(eventIn(links, code, 4));

      const readThrough = (offset: number, ...subjects: readonly string[]): ProjectedEvents => ({
        appliedThrough: () => Promise.resolve(offset),
        setAside: () => Promise.resolve(subjects),
        states: (_topic, _partition, events) => Promise.resolve(events.map(() => 'applied')),
      });
      const applied = readThrough(Number.MAX_SAFE_INTEGER);
      expect(await pruneSent(node.pool, applied), 'too young').to.equal(0);
      await age();
      const [end] = (await log.ranges(links)).slice(6);
      const lagging = (end?.next ?? 0) - 2;
      expect(await pruneSent(node.pool, readThrough(lagging)), 'lag').to.equal(0);
      expect(await pruneSent(node.pool, applied), 'not checked').to.equal(0);
      await checkSent(node.pool, applied);
      await pruneSent(node.pool, readThrough(Number.MAX_SAFE_INTEGER, code));
      expect(await eventsIn(code), 'a projection has set one aside').to.equal(4);
      expect(await pruneSent(node.pool, applied)).to.equal(3);
      expect(await eventsIn(code), 'what was recorded later').to.equal(1);
      relayTo();
      expect(await delivery.published(unsent, 10_000)).to.be.true;
    });

    /** Relays an event to projections that have read the whole log since. */
    const relayed = async (code: string): Promise<void> => {
      const relay = relayTo();
      const position = await record(eventIn(links, code));
      await delivery.published(position, 10_000);
      await relay.stop();
      const sent = position.map((end) => ({ ...end, topic: links }));
      await saveRelayCheckpoints(node.pool, log, sent);
      projected.appliedThrough = () => Promise.resolve(Number.MAX_SAFE_INTEGER);
    };

    it('is not sent again if projections have applied a later event of the subject', async () => {
      await relayed(newCode());
      projected.states = (_topic, _partition, events) =>
        Promise.resolve(events.map(() => 'overtaken'));
      expect(await checkSent(node.pool, projected)).to.deep.equal([]);
      expect(await sendAgain(node.pool, log)).to.equal(0);
    });

    it('is not sent again while a later event of its subject is unchecked', async () => {
      const code = newCode();
      await relayed(code);
      await checkSent(node.pool, projected);
      projected.appliedThrough = () => Promise.resolve(-1);
      const position = await record(eventIn(links, code, 2));
      relayTo();
      await delivery.published(position, 10_000);
      await sendAgain(node.pool, log);
      expect(log.sequencesOf(code)).to.deep.equal([1, 2]);
    });

    it('is sent again, once for each check, if no projection has applied it', async () => {
      const code = newCode();
      await relayed(code);
      relayTo();
      await eventually('it is sent again', () => log.sequencesOf(code).length > 1);
      for (let round = 0; round < 3; round += 1) {
        await delivery.published(await record(eventIn(links, newCode())), 10_000);
      }
      expect(log.sequencesOf(code)).to.deep.equal([1, 1]);
    });
  });
});
