import { readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { v7 as uuidv7 } from 'uuid';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { newEvent, topicOf, writeEvent } from '../../schemas/events/codec.js';
import { ledgerSource, spoolSource } from '../../schemas/events/envelope.js';
import { startLinklogCli } from '../cli/testing/command-line.js';
import { startEmbeddedPostgres } from '../embedded/index.js';
import { migrate } from '../migrations/migrate.js';
import type { EventLog } from '../platform/event-log/port.js';
import { openPostgresLog } from '../platform/event-log/postgres-log.js';
import { createLogger } from '../platform/logging.js';
import { createPool } from '../platform/postgres/pool.js';
import { temporaryDir } from '../testing/product.js';

const logger = createLogger('silent');
const keys = 20;
const defaultLinks = 100_000;
const defaultVisits = 1_000_000;
const batchSize = 1_000;

const append = async (log: EventLog, events: readonly LinklogEvent[]): Promise<void> => {
  const [first] = events;
  if (!first) return;
  await log.append(
    topicOf(first),
    events.map((event) => ({
      key: event.subject,
      value: writeEvent(event),
      ledgerSequence: event.source === ledgerSource ? event.sequence : null,
    })),
  );
};

const inBatches = async (
  log: EventLog,
  count: number,
  make: (index: number) => LinklogEvent,
): Promise<void> => {
  for (let from = 0; from < count; from += batchSize) {
    const length = Math.min(batchSize, count - from);
    await append(
      log,
      Array.from({ length }, (_, index) => make(from + index)),
    );
  }
};

/** A log as years of work leave it: a tenth of the links limited, with every visit of theirs. */
const fill = async (log: EventLog, links: number, visits: number): Promise<void> => {
  const start = Date.now() - 86_400_000;
  const keyIds = Array.from({ length: keys }, () => uuidv7());
  const keyOf = (index: number): string => keyIds[index % keys] ?? '';
  const codeOf = (index: number): string => `code${index.toString(36).padStart(5, '0')}`;
  const common = (subject: string, index: number) => ({
    id: uuidv7(),
    subject,
    time: new Date(start + index),
    account: 'default',
    correlationId: uuidv7(),
  });
  await inBatches(log, keys, (index) =>
    newEvent(
      'ApiKeyCreated',
      {
        name: 'a key',
        plan: 'PRO',
        account: 'default',
        hash: keyOf(index).replaceAll('-', '').padEnd(64, '0'),
      },
      { ...common(keyOf(index), index), sequence: 1, actor: 'bench' },
    ),
  );
  await inBatches(log, links, (index) =>
    newEvent(
      'LinkCreated',
      {
        url: `https://example.com/some/where/${index}?utm_source=newsletter&utm_campaign=spring`,
        custom: false,
        expiresAt: null,
        maxClicks: index % 10 === 0 ? 1_000_000 : null,
        passwordHash: null,
        keyId: keyOf(index),
      },
      { ...common(codeOf(index), index), sequence: 1, actor: keyOf(index) },
    ),
  );
  const spool = spoolSource(uuidv7());
  const clicks = new Map<number, number>();
  await inBatches(log, visits, (index) => {
    const link = (index * 7_919) % links;
    const limited = link % 10 === 0;
    const click = (clicks.get(link) ?? 0) + 1;
    if (limited) clicks.set(link, click);
    return newEvent(
      'LinkVisited',
      { click: limited ? click : null, bot: index % 20 === 0 },
      {
        ...common(codeOf(link), links + index),
        ...(!limited && { source: spool }),
        sequence: limited ? click : index + 1,
      },
    );
  });
};

/** The command's own figures, with the most memory that it had. */
const measured = async (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> => {
  const { child, ended } = startLinklogCli([...args, '--json'], env);
  let peakMiB = 0;
  const watching = new AbortController();
  const watch = async (): Promise<void> => {
    while (!watching.signal.aborted) {
      // It may end between two looks; the last look is what counts.
      const status = await readFile(`/proc/${child.pid ?? 0}/status`, 'utf8').catch(() => '');
      const [, kiB] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
      if (kiB !== undefined) peakMiB = Math.round(Number(kiB) / 1_024);
      await sleep(50);
    }
  };
  const watched = watch();
  const said = await ended;
  watching.abort();
  await watched;
  if (said.exitCode !== 0) throw new Error(said.stderr);
  const figures = JSON.parse(said.stdout) as { events: number; seconds: number };
  process.stderr.write(said.stderr);
  return { ...figures, perSecond: Math.round(figures.events / figures.seconds), peakMiB };
};

/** `node dist/ops/bench/backup.js [LINKS] [VISITS]` */
const run = async (links: number, visits: number): Promise<void> => {
  const from = await temporaryDir();
  const to = await temporaryDir();
  const file = path.join(from, 'bench.backup');
  try {
    const postgres = await startEmbeddedPostgres({ dataDir: from, logger });
    const pool = createPool({ url: postgres.url, name: 'bench', max: 4, logger });
    await migrate(pool);
    const { log } = await openPostgresLog({ pool, url: postgres.url, logger });
    await fill(log, links, visits);
    const backup = await measured(['backup', file], { DATA_DIR: from });
    await log.close();
    await pool.end();
    await postgres.stop();
    const restore = await measured(['restore', file], { DATA_DIR: to });
    const { size } = await stat(file);
    process.stdout.write(`${JSON.stringify({ links, visits, size, backup, restore })}\n`);
  } finally {
    for (const dir of [from, to]) await rm(dir, { recursive: true, force: true });
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await run(Number(process.argv[2] ?? defaultLinks), Number(process.argv[3] ?? defaultVisits));
}
