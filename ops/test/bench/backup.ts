import { rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../../local/postgres/index.js';
import { migrate } from '../../migrations/migrate.js';
import { createLogger } from '../../platform/logging.js';
import { createPool, type Pool } from '../../platform/postgres/pool.js';
import { fillLog } from './long-log.js';
import { peakMemoryOf } from './peak-memory.js';
import { startLinklogCli, temporaryDir } from '../support/process.js';
import { openTestLog } from '../support/node.js';

const logger = createLogger('silent');
export const defaultLinks = 100_000;
export const defaultVisits = 1_000_000;

/** The command's own figures, with the most memory that it had. */
export const measured = async (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> => {
  const { child, ended } = startLinklogCli([...args, '--json'], env);
  const [said, peakMiB] = await Promise.all([ended, peakMemoryOf(child.pid, ended)]);
  if (said.exitCode !== 0) throw new Error(said.stderr);
  const figures = JSON.parse(said.stdout) as { events: number; seconds: number };
  process.stderr.write(said.stderr);
  return { ...figures, perSecond: Math.round(figures.events / figures.seconds), peakMiB };
};

/** Runs `work` on the embedded PostgreSQL of a data directory. */
export const withPostgres = async <Result>(
  dataDir: string,
  work: (pool: Pool, url: string) => Promise<Result>,
): Promise<Result> => {
  const postgres = await startEmbeddedPostgres({ dataDir, logger });
  const pool = createPool({ url: postgres.url, name: 'bench', max: 4, logger });
  try {
    return await work(pool, postgres.url);
  } finally {
    await pool.end();
    await postgres.stop();
  }
};

/** Backs up a log of so many links and visits that stands in a new data directory. */
export const backUpNewLog = (
  dataDir: string,
  { file, links, visits }: { file: string; links: number; visits: number },
): Promise<Record<string, unknown>> =>
  withPostgres(dataDir, async (pool, url) => {
    await migrate(pool);
    const { log } = await openTestLog({ pool, url, logger });
    await fillLog(log, links, visits);
    const figures = await measured(['backup', file], { DATA_DIR: dataDir });
    await log.close();
    return figures;
  });

/** `node dist/ops/test/bench/backup.js [LINKS] [VISITS]` */
const run = async (links: number, visits: number): Promise<void> => {
  const from = await temporaryDir();
  const to = await temporaryDir();
  const file = path.join(from, 'bench.backup');
  try {
    const backup = await backUpNewLog(from, { file, links, visits });
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
