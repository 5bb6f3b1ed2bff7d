import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../embedded/index.js';
import { migrate } from '../migrations/migrate.js';
import { openPostgresLog } from '../platform/event-log/postgres-log.js';
import { createLogger } from '../platform/logging.js';
import { createPool } from '../platform/postgres/pool.js';
import { temporaryDir } from '../testing/product.js';
import { fillLog } from './long-log.js';
import { peakMemoryOf } from './peak-memory.js';

const logger = createLogger('silent');
const cli = fileURLToPath(new URL('../cli/main.js', import.meta.url));
const defaultEvents = 1_000_000;

/** One run of the real command, its output thrown away. */
const measured = async (
  dataDir: string,
  events: number,
  args: readonly string[],
): Promise<object> => {
  const started = performance.now();
  const child = spawn(process.execPath, [cli, 'audit', ...args], {
    env: { DATA_DIR: dataDir },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'close').then(([code]): unknown => code);
  const [exitCode, peakMiB] = await Promise.all([ended, peakMemoryOf(child.pid, ended)]);
  if (exitCode !== 0) throw new Error(`${args.join(' ')} ended with ${String(exitCode)}`);
  const seconds = (performance.now() - started) / 1_000;
  return { seconds: Number(seconds.toFixed(1)), perSecond: Math.round(events / seconds), peakMiB };
};

/** `node dist/ops/bench/replay.js [EVENTS]`: the embedded log, a tenth of the events links. */
const run = async (events: number): Promise<void> => {
  const dataDir = await temporaryDir();
  try {
    const postgres = await startEmbeddedPostgres({ dataDir, logger });
    const pool = createPool({ url: postgres.url, name: 'bench', max: 4, logger });
    await migrate(pool);
    const { log } = await openPostgresLog({ pool, url: postgres.url, logger });
    const links = Math.ceil(events / 10);
    await fillLog(log, links, events - links);
    await log.close();
    const fileOf = (name: string): readonly string[] => ['--out', path.join(dataDir, name)];
    const commands: readonly (readonly string[])[] = [
      ['replay'],
      ['replay', '--actor', 'nobody'],
      ['replay', '--format', 'csv', ...fileOf('events.csv')],
      ['replay', '--format', 'parquet', ...fileOf('events.parquet')],
      ['history', 'code00000', '--visits'],
    ];
    for (const args of commands) {
      const figures = await measured(dataDir, events, args);
      const command = args.map((word) => path.basename(word)).join(' ');
      process.stdout.write(`${JSON.stringify({ command, events, ...figures })}\n`);
    }
    await pool.end();
    await postgres.stop();
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await run(Number(process.argv[2] ?? defaultEvents));
}
