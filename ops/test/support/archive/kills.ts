import { v7 as uuidv7 } from 'uuid';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '../../../platform/logging.js';
import { isUnavailable } from '../../../platform/error-codes.js';
import { createPool } from '../../../platform/postgres/pool.js';
import { testDatabase } from '../database.js';
import { launchEventStore } from '../eventstore/process.js';
import { Streams } from '../eventstore/streams.js';
import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { newEvent, topicOf } from '../../../../schemas/events/codec.js';
import {
  blocked,
  created,
  metered,
  noon,
  recordOf,
  rendered,
  spooledVisit,
} from '../../../../schemas/testing/events.js';
import { archiveIdOf, streamOf } from '../../../../projectors/log/archive/archiver.js';
import { startArchive } from '../../../../projectors/log/archive/archive.js';
import { openArchiveStore } from '../../../../projectors/log/archive/store.js';
import { idsIn } from './harness.js';
import { openTestLog } from '../node.js';

const logger = createLogger('silent');
const links = 250;
const chunk = 1_000;

/** Events of every topic, mostly visits; every hundredth is twice in the log. */
function* history(
  count: number,
): Generator<{ readonly event: LinklogEvent; readonly twice: boolean }> {
  for (let index = 0; index < count; index += 1) {
    const code = `code-${index % links}`;
    const round = Math.floor(index / links);
    const metadata = { id: uuidv7(), subject: 'platform', time: noon };
    const event =
      round === 0
        ? created(code)
        : index % 97 === 0
          ? metered(code, round, 1)
          : index % 101 === 0
            ? rendered(`${code}-qr`, round)
            : index % 103 === 0
              ? blocked(code, round + 1)
              : index % 997 === 0
                ? newEvent('MaintenanceSwitched', { on: true }, { ...metadata, sequence: index })
                : spooledVisit(code, { sequence: index, spool: `spool-${index % 7}` });
    yield { event, twice: index % 100 === 99 };
  }
}

/**
 * Archives events with two concurrent archivers, while the double of EventStoreDB is killed and restarted, every third
 * time together with an archiver; then compares every stream.
 */
export const archiveUnderKills = async (options: {
  readonly events: number;
  readonly kills: number;
}) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'linklog-archive-'));
  const file = path.join(dir, 'streams');
  const database = await testDatabase('kills');
  const opened = await openTestLog({ pool: database.pool, url: database.url, logger });
  // With repeats, like Kafka.
  const log = { ...opened.log, mayRepeatLedger: true };
  const expected = new Map<string, string[]>();
  let repeats = 0;
  let batch: LinklogEvent[] = [];
  const append = async (): Promise<void> => {
    for (const topic of new Set(batch.map(topicOf))) {
      await log.append(topic, batch.filter((event) => topicOf(event) === topic).map(recordOf));
    }
    batch = [];
  };
  for (const { event, twice } of history(options.events)) {
    const ids = expected.get(streamOf(event));
    if (ids) ids.push(archiveIdOf(event));
    else expected.set(streamOf(event), [archiveIdOf(event)]);
    batch.push(event, ...(twice ? [event] : []));
    if (twice) repeats += 1;
    if (batch.length >= chunk) await append();
  }
  await append();

  const startedAt = performance.now();
  let double = await launchEventStore(file);
  const { port, url } = double;
  const pool = createPool({ url: database.url, name: 'archive', max: 4, logger });
  const start = () => startArchive({ pool, log, store: openArchiveStore(url), logger });
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
  const total = options.events + repeats;
  for (let kill = 1; kill <= options.kills; kill += 1) {
    // Kills are spread over the whole log.
    const due = total - (total * (kill - 0.5)) / options.kills;
    while ((await lag()) > due) await sleep(20);
    await double.kill();
    if (kill % 3 === 0) {
      await archivers.pop()?.stop();
      archivers.push(start());
    }
    double = await launchEventStore(file, port);
  }
  while ((await lag()) > 0) await sleep(50);
  const seconds = (performance.now() - startedAt) / 1_000;
  for (const archiver of archivers) await archiver.stop();
  await double.kill();

  const streams = new Streams(file);
  streams.close();
  const names = new Set([...expected.keys(), ...streams.names()]);
  const wrong = [...names].filter(
    (name) => idsIn(streams, name).join() !== (expected.get(name) ?? []).join(),
  );
  const archived = streams.names().reduce((sum, name) => sum + idsIn(streams, name).length, 0);
  await pool.end();
  await log.close();
  await database.drop();
  await rm(dir, { recursive: true });
  return { ...options, repeats, streams: names.size, seconds, wrong, archived };
};
