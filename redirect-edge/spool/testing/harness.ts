import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino, type Logger } from 'pino';
import { readEvent } from '../../../schemas/events/codec.js';
import { shipHere } from '../../shipping/shipping.js';
import { unknownVisitor } from '../../../schemas/testing/visitor.js';
import type { NewLines, NewRecord } from '../../../ops/event-log/port.js';
import { partitionOf } from '../../../ops/event-log/partition.js';
import { topics } from '../../../schemas/events/topics.js';
import { deferred } from '../../../ops/platform/concurrency/deferred.js';
import { singly } from '../../../ops/test/support/singly.js';
import type { NewVisit } from '../record.js';
import { openSpool, type Spool, type SpoolOptions } from '../spool.js';

export const visit = (number: number): NewVisit => ({
  code: `code-${number % 7}`,
  at: 1_750_000_000_000 + number,
  data: { ...unknownVisitor, bot: number % 2 === 0 },
  account: 'default',
  requestId: String(number),
});

/** Resolves when the spool has the visit. @throws SpoolUnavailable */
export const append = (spool: Pick<Spool, 'append'>, newVisit: NewVisit): Promise<void> => {
  const written = deferred();
  spool.append(newVisit, (failure) => {
    if (failure) written.reject(failure);
    else written.resolve();
  });
  return written.promise;
};

/** Collects records instead of the log. */
export class FakeLog {
  readonly batches: (readonly NewRecord[])[] = [];
  isUnavailable = false;
  attempts = 0;

  readonly ship = async (records: readonly (NewRecord | NewLines)[]): Promise<void> => {
    this.attempts += 1;
    await sleep(1);
    if (this.isUnavailable) throw new Error('the log is unavailable');
    this.batches.push(singly(records));
  };

  get records(): readonly NewRecord[] {
    return this.batches.flat();
  }

  get sequences(): readonly number[] {
    return this.records.map(({ value }) => readEvent(value).sequence).sort((a, b) => a - b);
  }

  /** The request ids of a spool's visits, ascending, without the duplicates that readers drop. */
  visitsOf(spoolId: string): number[] {
    return visitsOf(this.records, spoolId);
  }
}

export const visitsOf = (records: readonly NewRecord[], spoolId: string): number[] => {
  const highWaterMarks = new Map<number, number>();
  const visits: number[] = [];
  for (const { key, value } of records) {
    const event = readEvent(value);
    if (event.source !== `/linklog/spool/${spoolId}`) continue;
    const partition = partitionOf(key, topics.visits.partitions);
    if (event.sequence <= (highWaterMarks.get(partition) ?? 0)) continue;
    if (event.subject !== key)
      throw new Error(`the key ${key} is not the subject ${event.subject}`);
    highWaterMarks.set(partition, event.sequence);
    visits.push(Number(event.correlationid));
  }
  return visits.sort((a, b) => a - b);
};

export const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

export const folderBytes = async (folder: string): Promise<number> => {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.seg'));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
};

/** The data directories, spools and log lines of a suite. */
export class SpoolBench {
  readonly #dirs: string[] = [];
  readonly #spools: Spool[] = [];
  readonly logLines: { level: number; msg: string; [field: string]: unknown }[] = [];
  readonly logger: Logger = pino(
    { level: 'debug' },
    {
      write: (line: string) => {
        this.logLines.push(JSON.parse(line) as (typeof this.logLines)[0]);
      },
    },
  );

  async dataDir(): Promise<string> {
    const dir = await mkdtemp(join(tmpdir(), 'linklog-spool-'));
    this.#dirs.push(dir);
    return dir;
  }

  async open({
    dataDir,
    ship,
    ...options
  }: Partial<Omit<SpoolOptions, 'root' | 'shipping'>> & {
    readonly dataDir: string;
    readonly ship: FakeLog['ship'];
  }) {
    const spool = await openSpool({
      root: join(dataDir, 'spool'),
      maxBytes: 1024 ** 3,
      fsync: false,
      logger: this.logger,
      scanEveryMs: 50,
      shipping: shipHere(ship),
      ...options,
    });
    this.#spools.push(spool);
    return spool;
  }

  async clear(): Promise<void> {
    await Promise.all(this.#spools.splice(0).map((spool) => spool.stop({ shipWithinMs: 0 })));
    for (const dir of this.#dirs.splice(0)) await rm(dir, { recursive: true });
    this.logLines.length = 0;
  }
}
