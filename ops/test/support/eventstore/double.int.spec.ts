import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import {
  isSoftDeleted,
  openArchiveStore,
  type ArchivedEvent,
  type ArchiveStore,
  type ArchiveUnavailable,
} from '../../../../projectors/log/archive/store.js';
import { eventually, eventuallyPasses, rejection } from '../waiting.js';
import { startEventStoreCluster } from './cluster.js';
import { startEventStoreDouble, type EventStoreDouble } from './double.js';
import type { Streams } from './streams.js';

const event = (size = 10): ArchivedEvent => ({
  ...{ id: uuidv7(), type: 'test', data: { text: 'x'.repeat(size) }, metadata: {} },
});

/** The titles are rows of the table of facts that were measured on EventStoreDB 23.10 and 24.10. */
describe('double of EventStoreDB', () => {
  let double: EventStoreDouble;
  let store: ArchiveStore;
  const events = [event(), event(), event(), event()];

  const start = async (options: Parameters<typeof startEventStoreDouble>[0] = {}) => {
    double = await startEventStoreDouble(options);
    store = openArchiveStore(double.url);
  };

  afterEach(async () => {
    await store.close();
    double.kill();
  });

  const revisions = async (): Promise<readonly number[] | null> =>
    (await store.read('s', 0, 10))?.map(({ revision }) => revision) ?? null;

  const codeOf = async (work: Promise<unknown>) =>
    ((await rejection(work)) as ArchiveUnavailable).code;

  describe('streams of four events', () => {
    const rows: readonly {
      readonly title: string;
      readonly remove: (streams: Streams) => void;
      readonly read: readonly number[] | null;
      /** The revision of a new event that is appended with `no_stream`; `null`: a conflict at revision 3. */
      readonly added: number | null;
      /** The same of the first event after a scavenge. */
      readonly scavenged: number | null;
    }[] = [
      {
        title: '$maxCount 2',
        remove: (streams) => {
          streams.retain('s', { $maxCount: 2 });
        },
        ...{ read: [2, 3], added: null, scavenged: null },
      },
      {
        title: '$maxAge, all expired',
        remove: (streams) => {
          streams.retain('s', { $maxAge: 60 });
          streams.elapse(61);
        },
        ...{ read: [], added: null, scavenged: null },
      },
      {
        title: '$tb 3',
        remove: (streams) => {
          streams.retain('s', { $tb: 3 });
        },
        ...{ read: [3], added: null, scavenged: null },
      },
      {
        title: 'soft-deleted',
        remove: (streams) => {
          streams.softDelete('s');
        },
        ...{ read: [], added: 4, scavenged: 4 },
      },
    ];
    for (const { title, remove, read, added, scavenged } of rows) {
      it(title, async () => {
        const outcomes: unknown[] = [];
        for (const isScavenged of [false, true]) {
          for (const [first, appended] of [
            [0, event()],
            [4, event()],
            [0, events[0] ?? event()],
          ] as const) {
            if (outcomes.length > 0) {
              await store.close();
              double.kill();
            }
            await start();
            await store.append('s', 0, events);
            remove(double.streams);
            if (isScavenged) double.streams.scavenge();
            expect(await revisions()).to.deep.equal(read);
            outcomes.push(await store.append('s', first, [appended]));
          }
        }
        const outcome = (last: number | null) =>
          last === null ? { type: 'conflict', last: 3 } : { type: 'appended', last };
        expect(outcomes).to.deep.equal([
          ...[outcome(added), outcome(4), outcome(0)],
          ...[outcome(added), outcome(4), outcome(scavenged)],
        ]);
      });
    }

    it('soft-deleted: the stream is back after an append', async () => {
      await start();
      await store.append('s', 0, events);
      double.streams.softDelete('s');
      expect(isSoftDeleted(await store.metadata('s'))).to.equal(true);
      await store.append('s', 4, [event()]);
      expect(await revisions()).to.deep.equal([4]);
      expect(await store.metadata('s')).to.deep.equal({ $tb: 4 });
    });

    it('tombstoned', async () => {
      await start();
      await store.append('s', 0, events);
      double.streams.tombstone('s');
      expect(await revisions()).to.equal(null);
      for (const first of [0, 4]) {
        expect(await store.append('s', first, [event()])).to.deep.equal({ type: 'deleted' });
      }
    });
  });

  describe('appends', () => {
    it('a repeat while the original is not committed is dropped, and one retry succeeds', async () => {
      await start({ commitTimeoutMs: 300 });
      double.streams.hasQuorum = false;
      const original = store.append('s', 0, events);
      await eventually('the original is written', () => double.calls.append === 1);
      const repeat = store.append('s', 0, events);
      await eventually('the repeat arrives', () => double.calls.append === 2);
      double.streams.commit();
      const outcome = { type: 'appended', last: 3 };
      expect(await Promise.all([original, repeat])).to.deep.equal([outcome, outcome]);
      expect(double.calls.append).to.equal(3);
    });

    it('no quorum: the event is written but not committed', async () => {
      await start({ commitTimeoutMs: 50 });
      double.streams.hasQuorum = false;
      expect(await codeOf(store.append('s', 0, events.slice(0, 1)))).to.equal('TIMEOUT');
      expect(await store.append('s', 0, events)).to.deep.equal({ type: 'conflict', last: 0 });
      expect(await store.read('s', 0, 10)).to.deep.equal([]);
    });

    it('an event above MaxAppendEventSize', async () => {
      await start({ maxAppendEventSize: 1_000 });
      const large = event(2_000);
      expect(await store.append('s', 0, [event(), large])).to.deep.equal({
        type: 'rejected',
        message: `3 INVALID_ARGUMENT: Event with Id: ${large.id} exceeds Maximum Append Event Size of 1000.`,
      });
    });

    it('an append above MaxAppendSize', async () => {
      await start({ maxAppendSize: 1_000 });
      expect(await store.append('s', 0, [event(600), event(600)])).to.deep.equal({
        type: 'rejected',
        message: '3 INVALID_ARGUMENT: Maximum Append Size of 1000 Exceeded.',
      });
    });

    it('a user who may only read gets ACCESS_DENIED', async () => {
      await start();
      double.permitAppends(false);
      expect(await store.read('s', 0, 1)).to.deep.equal([]);
      expect(await codeOf(store.append('s', 0, events))).to.equal('ACCESS_DENIED');
      expect(await codeOf(store.probe('s'))).to.equal('ACCESS_DENIED');
    });

    it('an append at an impossible revision reports the end of the stream', async () => {
      await start();
      expect(await store.probe('s')).to.deep.equal({ type: 'conflict', last: -1 });
      await store.append('s', 0, events);
      double.streams.softDelete('s');
      double.streams.scavenge();
      expect(await store.probe('s')).to.deep.equal({ type: 'conflict', last: 3 });
    });

    it('a call that a stopped process receives after its deadline is not stored', async () => {
      await start();
      double.stall();
      expect(await codeOf(store.append('s', 0, events))).to.equal('TIMEOUT');
      await sleep(50);
      double.resume();
      await sleep(50);
      expect(double.streams.events('s')).to.deep.equal([]);
    });
  });

  describe('clusters', () => {
    const startCluster = async () => {
      const cluster = await startEventStoreCluster({ commitTimeoutMs: 200 });
      store = openArchiveStore(cluster.url);
      double = {
        kill: () => {
          cluster.kill();
        },
      } as EventStoreDouble;
      await store.append('s', 0, events.slice(0, 1));
      return cluster;
    };

    it('another node is elected after the leader has stopped', async () => {
      const cluster = await startCluster();
      await cluster.stop('leader');
      await eventuallyPasses(async () => {
        expect(await store.append('s', 1, events.slice(1))).to.deep.include({ last: 3 });
      });
    });

    it('a hung leader: DEADLINE_EXCEEDED, then another node', async () => {
      const cluster = await startCluster();
      // Connects to the leader.
      await store.probe('s');
      await cluster.hang('leader');
      expect(await codeOf(store.append('s', 1, events.slice(1)))).to.equal('TIMEOUT');
      await eventuallyPasses(async () => {
        expect(await store.append('s', 1, events.slice(1))).to.deep.include({ last: 3 });
      });
    });

    it('an old leader that comes back truncates what was not committed', async () => {
      const cluster = await startCluster();
      await cluster.stop('follower');
      await cluster.stop('follower');
      expect(await codeOf(store.append('s', 1, events.slice(1)))).to.equal('TIMEOUT');
      await cluster.stop('leader');
      await cluster.heal();
      await eventuallyPasses(async () => {
        expect(await store.probe('s')).to.deep.equal({ type: 'conflict', last: 0 });
      });
    });
  });
});
