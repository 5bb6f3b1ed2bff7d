import { withinDeadline } from '../platform/concurrency/deadline.js';
import { startThread } from '../platform/concurrency/thread.js';
import type { Logger } from '../platform/logging.js';
import type { Figure, Gauges, Sample } from '../platform/metrics/figure.js';
import type { Config } from '../config/config.js';
import type { ProjectorConfig, ProjectorService } from './projectors.js';

/** The thread opens its own connections and its own reader of the log. */
export interface ProjectorSettings {
  readonly config: ProjectorConfig;
  readonly tracing: Config['tracing'];
  /** Its database has been migrated. */
  readonly databaseUrl: string;
  readonly ownSealKeyFile: string | null;
  readonly logLevel: string;
}

export interface ProjectorThread {
  start(settings: ProjectorSettings): Promise<{
    readonly figures: readonly Omit<Figure, 'read'>[];
    /** The names of `ProjectorService.checks`. */
    readonly checks: readonly string[];
  }>;
  samples(name: string): Promise<readonly Sample[]>;
  secondsBehind(): Promise<ReadonlyMap<string, number>>;
  check(name: string): Promise<void>;
  compaction: ProjectorService['compaction'];
  failed(): Promise<never>;
  stop(): Promise<void>;
}

const program = new URL('projectors-thread.js', import.meta.url);

/**
 * Three times V8's default. Under full load, a batch of statistics keeps thousands of visits in memory, and each
 * collection of the young generation copies them. Fewer collections save 5 % of the CPU time of a visit.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 144 };

/** Timeout of a call for GET /metrics (ms). A batch blocks the thread's event loop for long. */
const callTimeoutMs = 1_000;

/**
 * Starts a thread for the projectors of a process with other services: their batches block the event loop for long, and
 * would delay redirects. The thread loads its modules while the rest of the process starts.
 */
export const openProjectorThread = (logger: Logger) => {
  const thread = startThread<ProjectorThread>(program, { resourceLimits });
  let isStopping = false;
  let isEnded = false;
  void thread.ended.then((err) => {
    isEnded = true;
    if (!isStopping) logger.error({ err }, 'the projector thread ended');
  });

  /** Returns `fallback` if the thread does not respond in time. */
  const callWithin = <Value>(call: () => Promise<Value>, fallback: Value): Promise<Value> =>
    withinDeadline(callTimeoutMs, call).catch((err: unknown) => {
      logger.debug({ err }, 'the projector thread did not respond');
      return fallback;
    });

  const terminate = async (): Promise<void> => {
    isStopping = true;
    await thread.terminate();
  };

  return {
    async start(settings: ProjectorSettings, metrics: Gauges): Promise<ProjectorService> {
      const { figures, checks } = await thread.call('start', settings);
      const byName = new Map(figures.map((figure) => [figure.name, figure]));
      for (const { name, ...figure } of byName.values()) {
        const read = () => callWithin(() => thread.call('samples', name), []);
        metrics.gauge({ ...figure, name, read });
      }
      const failed = thread.call('failed');
      // The caller gets the rejection by `failed`. If another part fails to start first, `failed` has no caller, and an
      // unhandled rejection would end the process before it reports that failure.
      failed.catch(() => undefined);
      return {
        secondsBehind: () => callWithin(() => thread.call('secondsBehind'), new Map()),
        checks: Object.fromEntries(checks.map((name) => [name, () => thread.call('check', name)])),
        compaction: () => thread.call('compaction'),
        failed,
        async stop() {
          isStopping = true;
          if (!isEnded) await thread.call('stop');
          await terminate();
        },
      };
    },
    terminate,
  };
};
