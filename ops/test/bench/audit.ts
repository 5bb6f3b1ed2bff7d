import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { catchUpProjections } from '../../../projectors/main.js';
import { startEmbeddedPostgres } from '../../local/postgres/index.js';
import { rebuildLedger } from '../../ledger/rebuild/rebuild.js';
import { migrate } from '../../migrations/migrate.js';
import { createLogger } from '../../platform/logging.js';
import { createPool } from '../../platform/postgres/pool.js';
import { fillLog } from './long-log.js';
import { peakMemoryOf } from './peak-memory.js';
import { openTestLog } from '../support/node.js';
import { temporaryDir } from '../support/process.js';

/**
 * What the commands of analysts take on a long log, embedded, of which a tenth makes links:
 * `node dist/ops/test/bench/audit.js [EVENTS]`.
 */
const [events = 1_000_000] = process.argv.slice(2).map(Number);

const logger = createLogger('silent');
const cli = fileURLToPath(new URL('../../tools/cli/main.js', import.meta.url));

const tell = (what: string, seconds: number, memory = ''): void => {
  const perSecond = Math.round(events / seconds);
  process.stdout.write(`| ${what} | ${seconds.toFixed(1)} | ${perSecond} | ${memory} |\n`);
};

const timed = async (what: string, work: () => Promise<void>): Promise<void> => {
  const started = performance.now();
  await work();
  tell(what, (performance.now() - started) / 1_000);
};

/** One run of the real command, its output thrown away. */
const measure = async (dataDir: string, args: readonly string[]): Promise<void> => {
  const started = performance.now();
  const child = spawn(process.execPath, [cli, 'audit', ...args], {
    env: { DATA_DIR: dataDir },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'close').then(([code]): unknown => code);
  const [exitCode, peakMiB] = await Promise.all([ended, peakMemoryOf(child.pid, ended)]);
  if (exitCode !== 0) throw new Error(`${args.join(' ')} ended with ${String(exitCode)}`);
  const command = args.map((word) => path.basename(word)).join(' ');
  tell(`audit ${command}`, (performance.now() - started) / 1_000, `${peakMiB} MiB`);
};

const dataDir = await temporaryDir();
try {
  const postgres = await startEmbeddedPostgres({ dataDir, logger });
  const pool = createPool({
    url: postgres.url,
    name: 'bench',
    max: 4,
    deadlines: 'patient',
    logger,
  });
  await migrate(pool);
  const { log } = await openTestLog({ pool, url: postgres.url, logger });
  const links = Math.ceil(events / 10);
  process.stdout.write(
    `| ${events} events | s | events a second | most memory |\n|---|---|---|---|\n`,
  );
  await timed('filling the log', () => fillLog(log, links, events - links));
  const fileOf = (name: string): readonly string[] => ['--out', path.join(dataDir, name)];
  await measure(dataDir, ['replay']);
  await measure(dataDir, ['replay', '--actor', 'nobody']);
  await measure(dataDir, ['replay', '--format', 'csv', ...fileOf('events.csv')]);
  await measure(dataDir, ['replay', '--format', 'parquet', ...fileOf('events.parquet')]);
  await measure(dataDir, ['history', 'code00000', '--visits']);
  await timed('folding the ledger', () => rebuildLedger({ pool, log }));
  await timed('folding the projections', () => catchUpProjections({ pool, log, logger }));
  await measure(dataDir, ['as-of', new Date().toISOString()]);
  await measure(dataDir, ['verify']);
  await log.close();
  await pool.end();
  await postgres.stop();
} finally {
  await rm(dataDir, { recursive: true, force: true });
}
