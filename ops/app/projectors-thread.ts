/** The entry point of the thread that `projectors-in-thread.ts` starts. */
import { lowerThreadPriority, serveCalls } from '../platform/concurrency/thread.js';
import { createLogger, logWarnings } from '../platform/logging.js';
import { samplesOf, type Figure } from '../platform/metrics/figure.js';
import { connectDatabase, openTracer } from './connections.js';
import { logChannels, openEventLog } from './event-log.js';
import { startProjectorService } from './projectors.js';
import type { ProjectorSettings, ProjectorThread } from './projectors-in-thread.js';
import { startInOrder } from '../platform/process/lifecycle.js';

/** The same as that of the shipping thread: on a shared core, redirects get three quarters of the CPU time. */
lowerThreadPriority(5);

const start = (settings: ProjectorSettings) => {
  const { config, tracing, databaseUrl: url, ownSealKeyFile, logLevel } = settings;
  const logger = createLogger(logLevel);
  logWarnings(logger);
  return startInOrder(logger, async (onStop) => {
    const figures: Figure[] = [];
    const metrics = {
      gauge(figure: Figure): void {
        figures.push(figure);
      },
    };
    const tracer = await openTracer(tracing, logger);
    onStop(() => tracer?.stop());
    const channels = logChannels(config, { subscribes: true });
    const database = connectDatabase({ url, channels, metrics, tracer, logger });
    onStop(() => database.stop());
    const { listener } = database;
    const pool = database.pool('projectors-log', 6, 'log');
    const eventLog = await openEventLog(config, { pool, url, listener, logger, user: 'thread' });
    onStop(() => eventLog.close());
    const deps = { config, database, eventLog, ownSealKeyFile, metrics, logger };
    const service = await startProjectorService(deps);
    onStop(() => service.stop());
    return { service, figures };
  });
};

let running: ReturnType<typeof start> | undefined;

const started = async () => {
  if (!running) throw new Error('The projectors were called before start()');
  return running;
};

serveCalls<ProjectorThread>({
  async start(settings) {
    running = start(settings);
    const { service, figures } = await running;
    return {
      figures: figures.map(({ name, help, labels = [], shared = false }) => ({
        ...{ name, help, labels, shared },
      })),
      checks: Object.keys(service.checks),
    };
  },
  async samples(name) {
    const { figures } = await started();
    const samples = await Promise.all(
      figures.filter((figure) => figure.name === name).map(samplesOf),
    );
    return samples.flat();
  },
  secondsBehind: async () => (await started()).service.secondsBehind(),
  check: async (name) => (await started()).service.checks[name]?.(),
  compaction: async () => (await started()).service.compaction(),
  failed: async () => (await started()).service.failed,
  stop: async () => (await started()).stop(),
});
