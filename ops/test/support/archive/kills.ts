import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '../../../platform/logging.js';
import { isUnavailable } from '../../../platform/error-codes.js';
import { createPool } from '../../../platform/postgres/pool.js';
import { testDatabase } from '../database.js';
import { startEventStoreCluster } from '../eventstore/cluster.js';
import { launchEventStore } from '../eventstore/process.js';
import { Streams } from '../eventstore/streams.js';
import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { topicOf } from '../../../../schemas/events/codec.js';
import {
  blocked,
  created,
  metered,
  recordOf,
  spooledVisit,
} from '../../../../schemas/testing/events.js';
import { archiveIdOf, streamOf } from '../../../../projectors/log/archive/archiver.js';
import { startArchive } from '../../../../projectors/log/archive/archive.js';
import { ownerStream } from '../../../../projectors/log/archive/owner.js';
import { openArchiveStore } from '../../../../projectors/log/archive/store.js';
import { idsIn } from './harness.js';
import { openTestLog } from '../node.js';

const logger = createLogger('silent');
const links = 250;

/** Events of several topics, mostly visits; every hundredth is twice in the log. */
function* history(
  count: number,
): Generator<{ readonly event: LinklogEvent; readonly twice: boolean }> {
  for (let index = 0; index < count; index += 1) {
    const code = `code-${index % links}`;
    const round = Math.floor(index / links);
    const event =
      round === 0
        ? created(code)
        : index % 97 === 0
          ? metered(code, round, 1)
          : index % 103 === 0
            ? blocked(code, round + 1)
            : spooledVisit(code, { sequence: index, spool: `spool-${index % 7}` });
    yield { event, twice: index % 100 === 99 };
  }
}

/** A fault of a server, or of the leader or both followers of a cluster. */
export type Fault = 'kill' | 'kill leader' | 'lose quorum';

/** How long a fault lasts (ms). */
const faultMs = { kill: 0, 'kill leader': 3_000, 'lose quorum': 6_000 };

interface Server {
  readonly url: string;
  begin(fault: Fault): Promise<void>;
  heal(): Promise<void>;
  /** Stops the server. Returns its streams. */
  end(): Promise<Streams>;
}

const startProcess = async (file: string): Promise<Server> => {
  let double = await launchEventStore(file);
  const { port, url } = double;
  return {
    url,
    begin: () => double.kill(),
    async heal() {
      double = await launchEventStore(file, port);
    },
    async end() {
      await double.kill();
      const streams = new Streams(file);
      streams.close();
      return streams;
    },
  };
};

const startCluster = async (): Promise<Server> => {
  const cluster = await startEventStoreCluster();
  return {
    url: cluster.url,
    async begin(fault) {
      if (fault === 'kill leader') await cluster.stop('leader');
      else for (const role of ['follower', 'follower'] as const) await cluster.stop(role);
    },
    heal: () => cluster.heal(),
    end() {
      cluster.kill();
      return Promise.resolve(cluster.streams);
    },
  };
};

/**
 * Archives events with two concurrent archivers. During each fault of the double of EventStoreDB, events are appended to
 * the log; every third fault also stops an archiver. Then compares every stream.
 */
export const archiveUnderKills = async (options: {
  readonly events: number;
  readonly faults: readonly Fault[];
}) => {
  const { faults } = options;
  const dir = await mkdtemp(path.join(tmpdir(), 'linklog-archive-'));
  const database = await testDatabase('kills');
  const opened = await openTestLog({ pool: database.pool, url: database.url, logger });
  // With repeats, like Kafka.
  const log = { ...opened.log, mayRepeatLedger: true };
  const expected = new Map<string, string[]>();
  const due = history(options.events);
  let total = 0;
  const append = async (count: number): Promise<void> => {
    const batch: LinklogEvent[] = [];
    for (let index = 0; index < count; index += 1) {
      const next = due.next();
      if (next.done) break;
      const { event, twice } = next.value;
      const ids = expected.get(streamOf(event));
      if (ids) ids.push(archiveIdOf(event));
      else expected.set(streamOf(event), [archiveIdOf(event)]);
      batch.push(event, ...(twice ? [event] : []));
    }
    for (const topic of new Set(batch.map(topicOf))) {
      await log.append(topic, batch.filter((event) => topicOf(event) === topic).map(recordOf));
    }
    total += batch.length;
  };

  const startedAt = performance.now();
  const isCluster = faults[0] !== 'kill';
  const server = await (isCluster ? startCluster() : startProcess(path.join(dir, 'streams')));
  const pool = createPool({ url: database.url, name: 'archive', max: 4, logger });
  const start = () => startArchive({ pool, log, store: openArchiveStore(server.url), logger });
  const archivers = [start(), start()];
  const lag = async (): Promise<number> => {
    try {
      return (await archivers[0]?.status())?.lag ?? 0;
    } catch (error) {
      // Connections to PostgreSQL time out on a busy machine.
      if (!isUnavailable(error)) throw error;
      return Infinity;
    }
  };
  const portion = Math.ceil(options.events / faults.length / 2);
  for (const [index, fault] of faults.entries()) {
    const before = total;
    await append(portion);
    // The fault hits running appends.
    while (total - (await lag()) <= before) await sleep(5);
    await server.begin(fault);
    await append(portion);
    await sleep(faultMs[fault]);
    if (index % 3 === 2) {
      await archivers.pop()?.stop();
      archivers.push(start());
    }
    await server.heal();
  }
  while ((await lag()) > 0) await sleep(50);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { deadLetters } = (await archivers[0]?.status()) ?? { deadLetters: null };
  for (const archiver of archivers) await archiver.stop();
  const streams = await server.end();

  const stored = streams.names().filter((name) => name !== ownerStream);
  const names = new Set([...expected.keys(), ...stored]);
  const wrong = [...names].filter(
    (name) => idsIn(streams, name).join() !== (expected.get(name) ?? []).join(),
  );
  const archived = stored.reduce((sum, name) => sum + idsIn(streams, name).length, 0);
  const started = idsIn(streams, ownerStream).length;
  await pool.end();
  await log.close();
  await database.drop();
  await rm(dir, { recursive: true });
  const repeats = total - options.events;
  return {
    ...options,
    repeats,
    streams: names.size,
    seconds,
    wrong,
    archived,
    started,
    deadLetters,
  };
};
