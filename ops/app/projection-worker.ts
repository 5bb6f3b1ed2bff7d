import type { ProjectionWorker } from '../../command-api/projections/worker.js';
import { projectionStatus } from '../../projectors/main.js';
import { projections } from '../../projectors/projections.js';
import { NoPreviousProjection } from '../../projectors/runtime/previous.js';
import type { Projection } from '../../projectors/runtime/projection.js';
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

/** Work that was begun here, as far as it is. */
interface Begun {
  told: ProjectionWorkResponse;
  done: number | null;
  total: number | null;
}

/** What an operator is told of a failure; the service's log has the rest. */
const reasonOf = (error: unknown): string =>
  error instanceof RebuildRunning ||
  error instanceof NoPreviousProjection ||
  error instanceof ForeignPosition ||
  error instanceof LogIncomplete
    ? error.message
    : 'It failed; the log of this process says why';

/** Does for operators what the command line does with projections. Four of the pool's connections are used. */
export const createProjectionWorker = (deps: {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
}): ProjectionWorker & { readonly stop: () => Promise<void> } => {
  const { pool, log, logger } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  /** The last of each projection. */
  const last = new Map<string, Begun>();
  let running: { readonly name: string; readonly ended: Promise<void> } | null = null;

  const run = async (
    projection: Projection,
    work: ProjectionWork,
    progress: (done: number, total: number) => void,
  ): Promise<Outcome> => {
    if (work === 'redrive') return redrive({ pool, log, projection, signal });
    const build = work === 'rebuild' ? rebuild : rollBack;
    const outcome = await build({ ...deps, projection, progress, signal });
    const { applied, repeats, deadLetters, parked } = outcome;
    return { applied, repeats, remaining: deadLetters + parked };
  };

  return {
    names: projections.map(({ name }) => name),

    async status() {
      const [all, rebuilt] = await Promise.all([
        projectionStatus(pool, log),
        projectionsBeingRebuilt(pool),
      ]);
      return all.map((one) => {
        const begun = last.get(one.name);
        const isOurs = begun?.told.endedAt === null;
        const { done = null, total = null } = isOurs ? begun : {};
        return {
          ...one,
          running: rebuilt.has(one.name) ? { done, total } : null,
          last: begun?.told ?? null,
        };
      });
    },

    busy() {
      if (signal.aborted) return 'The service is being stopped';
      return running && `Something is being done to the projection ${running.name} already`;
    },

    begin(name, work, actor) {
      const projection = projections.find((one) => one.name === name);
      if (!projection || running) throw new Error(`Nothing can be begun of ${name}`);
      const told = { work, actor, startedAt: new Date().toISOString() };
      const begun: Begun = {
        told: { ...told, endedAt: null, outcome: null, error: null },
        done: null,
        total: null,
      };
      last.set(name, begun);
      const end = (how: Pick<ProjectionWorkResponse, 'outcome' | 'error'>): void => {
        begun.told = { ...told, ...how, endedAt: new Date().toISOString() };
        running = null;
        logger.info({ projection: name, ...begun.told }, 'work on a projection ended');
      };
      const ended = run(projection, work, (done, total) => {
        Object.assign(begun, { done, total });
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
      return { ended, now: () => begun.told };
    },

    /** Ends what goes on: a rebuild leaves the live projection as it is. */
    async stop() {
      stopping.abort(new Error('The service is being stopped'));
      await running?.ended;
    },
  };
};
