import type { ProjectionWorker } from '../../command-api/projections/handler.js';
import { archiveStatus, restartArchive } from '../../projectors/log/archive/work.js';
import { projectionStatus } from '../../projectors/main.js';
import { projections } from '../../projectors/projections.js';
import { NoPreviousProjection } from '../../projectors/runtime/previous.js';
import { archiveSchema } from '../../projectors/runtime/projection.js';
import {
  projectionsBeingRebuilt,
  rebuild,
  RebuildRunning,
  rollBack,
} from '../../projectors/runtime/rebuild.js';
import { redrive } from '../../projectors/runtime/redrive.js';
import type { ProjectionWork } from '../../schemas/events/catalogue.js';
import type { ProjectionWorkResponse } from '../../schemas/http/projections.js';
import { ForeignPosition, LogIncomplete, type EventLog } from '../event-log/port.js';
import type { Logger } from '../platform/logging.js';
import type { Pool } from '../platform/postgres/pool.js';

type Outcome = NonNullable<ProjectionWorkResponse['outcome']>;

interface StartedWork {
  response: ProjectionWorkResponse;
  done: number | null;
  total: number | null;
}

/** Returns the operator's message of a failure; other errors are only logged. */
const reasonOf = (error: unknown): string =>
  error instanceof RebuildRunning ||
  error instanceof NoPreviousProjection ||
  error instanceof ForeignPosition ||
  error instanceof LogIncomplete
    ? error.message
    : 'It failed; the log of this process says why';

/** Runs operators' work on projections. It uses up to four connections of the pool. */
export const createProjectionWorker = (deps: {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly hasArchive: boolean;
  readonly logger: Logger;
}): ProjectionWorker & { readonly stop: () => Promise<void> } => {
  const { pool, log, hasArchive, logger } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const last = new Map<string, StartedWork>();
  let running: { readonly name: string; readonly ended: Promise<void> } | null = null;

  const run = async (
    name: string,
    work: ProjectionWork,
    progress: (done: number, total: number) => void,
  ): Promise<Outcome> => {
    if (name === archiveSchema) {
      return { applied: 0, repeats: 0, remaining: await restartArchive(pool, work) };
    }
    const projection = projections.find((known) => known.name === name);
    if (!projection) throw new Error(`There is no projection ${name}`);
    if (work === 'redrive') return redrive({ pool, log, projection, signal });
    const build = work === 'rebuild' ? rebuild : rollBack;
    const outcome = await build({ ...deps, projection, progress, signal });
    const { applied, repeats, deadLetters, parked } = outcome;
    return { applied, repeats, remaining: deadLetters + parked };
  };

  return {
    names: [...projections.map(({ name }) => name), archiveSchema],

    async status() {
      const [statuses, archive, rebuilt] = await Promise.all([
        projectionStatus(pool, log),
        archiveStatus(pool, log, hasArchive),
        projectionsBeingRebuilt(pool),
      ]);
      return [...statuses, ...archive].map((status) => {
        const work = last.get(status.name);
        // Another process may run the rebuild.
        const { done = null, total = null } = work?.response.endedAt === null ? work : {};
        const running = rebuilt.has(status.name) ? { done, total } : null;
        return { ...status, running, last: work?.response ?? null };
      });
    },

    busy() {
      if (signal.aborted) return 'The service is being stopped';
      return running && `Something is being done to the projection ${running.name} already`;
    },

    begin(name, work, actor) {
      if (running) throw new Error(`${work} of ${name} began while ${running.name} was busy`);
      const request = { work, actor, startedAt: new Date().toISOString() };
      const started: StartedWork = {
        response: { ...request, endedAt: null, outcome: null, error: null },
        done: null,
        total: null,
      };
      last.set(name, started);
      const end = (result: Pick<ProjectionWorkResponse, 'outcome' | 'error'>): void => {
        started.response = { ...request, ...result, endedAt: new Date().toISOString() };
        running = null;
        logger.info({ projection: name, ...started.response }, 'work on a projection ended');
      };
      const ended = run(name, work, (done, total) => {
        Object.assign(started, { done, total });
      }).then(
        ({ applied, repeats, remaining }) => {
          end({ outcome: { applied, repeats, remaining }, error: null });
        },
        (err: unknown) => {
          logger.warn({ err, projection: name, work }, 'work on a projection failed');
          end({ outcome: null, error: reasonOf(err) });
        },
      );
      running = { name, ended };
      return { ended, now: () => started.response };
    },

    /** Aborts running work. An aborted rebuild leaves the live projection unchanged. */
    async stop() {
      stopping.abort(new Error('The service is being stopped'));
      await running?.ended;
    },
  };
};

/**
 * Lets the connections of `pool`, which has none yet, act as the owner of the projections. A user without the owner's
 * privileges may do so by SET ROLE only (`ops/migrations/rights.sql`). `queryPool` has the same user.
 */
export const actAsProjectionOwner = async (pool: Pool, queryPool: Pool): Promise<void> => {
  const { rows } = await queryPool.query<{ owner: string }>(
    `SELECT quote_ident(pg_get_userbyid(nspowner)) AS owner FROM pg_namespace
     WHERE nspname = 'projection_redirects' AND NOT pg_has_role(nspowner, 'USAGE')`,
  );
  const owner = rows[0]?.owner;
  if (owner === undefined) return;
  pool.on('connect', (client) => {
    // If SET ROLE fails, each statement that needs the role fails too, and its error is reported.
    client.query(`SET ROLE ${owner}`).catch(() => undefined);
  });
};
