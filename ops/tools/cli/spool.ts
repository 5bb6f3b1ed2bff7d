import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { spoolIdsIn } from '../../../redirect-edge/spool/adoption.js';
import { newCounters } from '../../../redirect-edge/spool/folder.js';
import {
  adoptOrphan,
  releaseOrphan,
  shipOrphan,
  type Orphan,
} from '../../../redirect-edge/spool/orphan.js';
import { listSegments } from '../../../redirect-edge/spool/segment.js';
import { Shipper } from '../../../redirect-edge/spool/shipper.js';
import { shipHere } from '../../../redirect-edge/shipping/shipping.js';
import { topics } from '../../../schemas/events/topics.js';
import type { Config } from '../../config/config.js';
import { hasCode } from '../../platform/errors.js';
import { LockHeld } from '../../platform/process/process-lock.js';
import type { AddCommands } from './command.js';
import { runOnDatabase, type LongWork } from './database.js';
import { CliError, messageOf } from './errors.js';
import { counted, type Output } from './output.js';

/** Attempts to append a batch, which take some seconds. */
const attempts = 6;

interface Outcome {
  readonly spool: string;
  readonly status: 'shipped' | 'in use' | 'failed';
  /** Visits appended to the log; readers drop repeats. */
  readonly visits: number;
  /** Unreadable files, which were moved out of the spool. */
  readonly damaged: number;
  /** `null` if the spool was shipped. */
  readonly reason: string | null;
}

/** Finds spools in a root directory, or in the directory of one spool. @throws CliError */
const spoolsIn = async (dir: string): Promise<{ root: string; ids: readonly string[] }> => {
  try {
    if ((await listSegments(dir)).length > 0) {
      return { root: path.dirname(dir), ids: [path.basename(dir)] };
    }
    const ids = await spoolIdsIn(dir);
    if (ids.length > 0) return { root: dir, ids };
    const names = await readdir(dir);
    const hint = names.includes('spool') ? `; did you mean ${path.join(dir, 'spool')}?` : '';
    throw new CliError('REFUSED', `there is no spool in ${dir}${hint}`);
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) throw new CliError('REFUSED', `${dir} does not exist`, { cause });
    if (!hasCode(cause, 'ENOTDIR')) throw cause;
    throw new CliError('REFUSED', `${dir} is not a folder`, { cause });
  }
};

/** Ships one spool and deletes its directory. @throws the log's error or the signal's reason */
const shipOne = async (
  root: string,
  spool: string,
  { log, logger, signal }: Pick<LongWork, 'log' | 'logger' | 'signal'>,
): Promise<Outcome> => {
  const counters = newCounters();
  const outcome = (status: Outcome['status'], error: unknown = null): Outcome => ({
    spool,
    status,
    visits: counters.shipped,
    damaged: counters.damaged,
    reason: error === null ? null : messageOf(error),
  });
  const shipper = new Shipper({
    counters,
    logger,
    shipping: shipHere((records) => log.append(topics.visits.name, records)),
    attempts,
    signal,
  });
  let orphan: Orphan | null = null;
  try {
    orphan = await adoptOrphan(root, spool, { counters, logger });
    if (orphan) await shipOrphan(orphan, shipper, logger);
    return outcome('shipped');
  } catch (error) {
    if (orphan) await releaseOrphan(orphan, logger);
    if (error instanceof LockHeld) return outcome('in use', error);
    // The log would not accept the other spools either.
    if (signal.aborted || counters.shipFailures > 0) throw error;
    return outcome('failed', error);
  }
};

const lineOf = ({ spool, visits, damaged, reason }: Outcome): string => {
  const shipped = `${counted(visits, 'visit')} shipped`;
  const moved = damaged === 0 ? '' : `; ${counted(damaged, 'damaged file')} set aside`;
  return `${spool}: ${reason === null ? shipped : `${shipped}, then stopped: ${reason}`}${moved}`;
};

const ship = async (config: Config, folder: string): Promise<Output> => {
  const { root, ids } = await spoolsIn(path.resolve(folder));
  const stopped = `the remaining visits are in ${root}`;
  const reporting = { title: null, work: 'shipping', stopped };
  const outcomes = await runOnDatabase(config, reporting, async (database) => {
    const done: Outcome[] = [];
    for (const id of ids) done.push(await shipOne(root, id, database));
    return done;
  });
  const isDone = outcomes.every(({ reason, damaged }) => reason === null && damaged === 0);
  return {
    json: { spools: outcomes },
    text: outcomes.map(lineOf).join('\n'),
    exitCode: isDone ? 0 : 1,
  };
};

export const addSpoolCommands: AddCommands = (program, { readConfig, print }) => {
  const group = program.command('spool').description('ship visits of edges that no longer run');
  group
    .command('ship')
    .description('ship the spools in a directory to the log and delete them')
    .argument(
      '<dir>',
      'the SPOOL_DIR of an edge that no longer runs, or the directory of one spool',
    )
    .notes(
      `
Edges ship the spools in their own SPOOL_DIR. Use this command for the disk of an edge that is not started
again; stop the edge first. The service may run meanwhile. Visits that are already in the log are dropped for
30 days: do not ship an older copy.`,
    )
    .examples('spool ship /mnt/old-edge/spool')
    .action(async (dir: string) => {
      print(await ship(readConfig(), dir));
    });
};
