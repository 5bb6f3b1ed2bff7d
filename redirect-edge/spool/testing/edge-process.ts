/**
 * An edge reduced to its spool, as a process that a test can kill or limit. Arguments: the data directory, the task, and
 * a prefix of the files with acknowledged (`.acked`) and shipped (`.log`) visits.
 */
import { openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as tick, setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { SpoolUnavailable } from '../folder.js';
import { shipHere } from '../../shipping/shipping.js';
import { toRecords } from '../../../ops/test/support/to-records.js';
import type { Shipping } from '../shipper.js';
import { openSpool } from '../spool.js';
import { append, visit } from './harness.js';

export type EdgeTask = 'write' | 'write-without-log' | 'adopt' | 'adopt-uncopied' | 'fill';

const [, , dataDir = '', task = '', notes = ''] = process.argv as [
  string,
  string,
  string?,
  EdgeTask?,
  string?,
];

const log = openSync(`${notes}.log`, 'a');
const toFile: Shipping = {
  ...shipHere(async (records) => {
    await sleep(1);
    const written = toRecords(records).map(({ key, value }) => JSON.stringify({ key, value }));
    writeSync(log, written.map((line) => `${line}\n`).join(''));
  }),
  // Ships several batches before a test kills the process.
  paceMs: 20,
};
const unavailable = shipHere(() => Promise.reject(new Error('the log is unavailable')));

const ships: Record<EdgeTask, Shipping> = {
  write: toFile,
  'write-without-log': unavailable,
  adopt: toFile,
  'adopt-uncopied': shipHere(() => Promise.resolve()),
  fill: unavailable,
};

const spool = await openSpool({
  root: join(dataDir, 'spool'),
  maxBytes: 1024 ** 3,
  fsync: false,
  shipping: ships[task as EdgeTask],
  logger: pino({ level: 'silent' }),
  scanEveryMs: 20,
  ...(task.startsWith('write') && { segmentBytes: 64 * 1024 }),
});

const report = (result: object): void => {
  // The maxRSS of `resourceUsage` starts with that of the parent process.
  const [, kiB] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  const maxRssMib = Number(kiB) / 1024;
  writeSync(1, `${JSON.stringify({ id: spool.id, maxRssMib, ...result })}\n`);
};

let next = 1;
const appendSome = (count: number): Promise<PromiseSettledResult<number>[]> =>
  Promise.allSettled(
    Array.from({ length: count }, () => {
      const number = next++;
      return append(spool, visit(number)).then(() => number);
    }),
  );

switch (task as EdgeTask) {
  case 'write':
  case 'write-without-log': {
    report({});
    const acked = openSync(`${notes}.acked`, 'a');
    for (;;) {
      const results = await appendSome(1 + Math.floor(Math.random() * 40));
      const numbers = results.flatMap((result) => ('value' in result ? [result.value] : []));
      writeSync(acked, numbers.map((number) => `${number}\n`).join(''));
      await tick();
    }
  }
  case 'adopt':
  case 'adopt-uncopied':
    report({});
    process.once('SIGTERM', () => {
      void spool.stop().then(() => {
        report({ ...spool.counters });
        process.exit(0);
      });
    });
    break;
  case 'fill': {
    // Beyond the limit, a write fails with EFBIG after a partial write.
    process.on('SIGXFSZ', () => undefined);
    const acked: number[] = [];
    const codes: string[] = [];
    for (let round = 0; round < 100; round += 1) {
      for (const result of await appendSome(50)) {
        if (result.status === 'fulfilled') acked.push(result.value);
        else if (result.reason instanceof SpoolUnavailable) codes.push(result.reason.code);
        else throw result.reason;
      }
    }
    report({ acked, codes: [...new Set(codes)], rejected: codes.length });
    process.kill(process.pid, 'SIGKILL');
    break;
  }
}
