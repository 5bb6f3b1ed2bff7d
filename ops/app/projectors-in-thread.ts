import { withinDeadline } from '../platform/concurrency/deadline.js';
import { startThread } from '../platform/concurrency/thread.js';
import type { Config } from '../config/config.js';
import type { Logger } from '../platform/logging.js';
import type { Figure, Gauges, Sample } from '../platform/metrics/figure.js';
import type { ProjectorService } from './projectors.js';

/** What the thread needs of its process: it has its own connections, and its own reader of the log. */
export interface ProjectorSettings {
  readonly config: Pick<Config, 'eventStoreUrl' | 'kafka' | 'sealKeyFile'>;
  /** Migrated. */
  readonly databaseUrl: string;
  readonly ownSealKeyFile: string | null;
  readonly logLevel: string;
}

/** What the thread answers. */
export interface ProjectorThread {
  /** What it measures, and which of the checks there are. */
  start(settings: ProjectorSettings): Promise<{
    readonly figures: readonly Omit<Figure, 'read'>[];
    readonly seals: boolean;
    readonly archive: boolean;
  }>;
  samples(name: string): Promise<readonly Sample[]>;
  secondsBehind(): Promise<ReadonlyMap<string, number>>;
  checkSeals(): Promise<void>;
  checkArchive(): Promise<void>;
  compaction: ProjectorService['compaction'];
  failed(): Promise<never>;
  stop(): Promise<void>;
}

const program = new URL('projectors-thread.js', import.meta.url);

/**
 * Three times V8's own limit. Under a full load a batch of statistics keeps thousands of visits in memory, which each
 * collection of the young generation copies: with so much room there are fewer collections, and a visit takes 5 % less
 * of the processor. It grows only while so much is kept.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 144 };

/** Milliseconds for a number of GET /metrics. A batch is a long turn of the thread's event loop. */
const answersWithinMs = 1_000;

/**
 * A thread for the projectors, where they share a process with other services: their batches are long turns of an
 * event loop, and redirects would wait for them. Its code is loaded from here on, while other things start.
 */
export const openProjectorThread = (logger: Logger) => {
  const thread = startThread<ProjectorThread>(program, { resourceLimits });
  let isStopping = false;
  let isEnded = false;
  void thread.ended.then((err) => {
    isEnded = true;
    if (!isStopping) logger.error({ err }, 'the thread of the projectors ended');
  });

  /** `otherwise` where the thread does not answer in time: of a number, there is no sample then. */
  const inTime = <Value>(ask: () => Promise<Value>, otherwise: Value): Promise<Value> =>
    withinDeadline(answersWithinMs, ask).catch((err: unknown) => {
      logger.debug({ err }, 'the thread of the projectors did not answer');
      return otherwise;
    });

  const terminate = async (): Promise<void> => {
    isStopping = true;
    await thread.terminate();
  };

  return {
    /** Does what `startProjectorService` does, in the thread. */
    async start(settings: ProjectorSettings, metrics: Gauges): Promise<ProjectorService> {
      const { figures, seals, archive } = await thread.call('start', settings);
      for (const { name, ...figure } of new Map(figures.map((one) => [one.name, one])).values()) {
        const read = () => inTime(() => thread.call('samples', name), []);
        metrics.gauge({ ...figure, name, read });
      }
      const failed = thread.call('failed');
      // Not swallowed: whoever gets `failed` below is told. Where the start of another part fails first, nobody gets
      // it, and the unheard rejection would end the process before that failure is told.
      failed.catch(() => undefined);
      return {
        secondsBehind: () => inTime(() => thread.call('secondsBehind'), new Map()),
        checkSeals: seals ? () => thread.call('checkSeals') : null,
        checkArchive: archive ? () => thread.call('checkArchive') : null,
        compaction: () => thread.call('compaction'),
        failed,
        async stop() {
          isStopping = true;
          if (!isEnded) await thread.call('stop');
          await terminate();
        },
      };
    },
    /** Ends it at once, wherever it is. */
    terminate,
  };
};
