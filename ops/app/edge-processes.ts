import { freePort } from '../local/process/server.js';
import { Parts, type Restarted, serviceDir } from '../local/stack/parts.js';
import { endOrphanServices, startService } from '../local/stack/service.js';
import { inheritedEnvironment, type Config } from '../config/config.js';
import type { Logger } from '../platform/logging.js';

/**
 * Runs the edge as EDGE_PROCESSES processes on one port, to which connections are distributed round-robin. Each process
 * has its own spool, and serves health and metrics on a port after ADMIN_PORT. A process that dies is restarted.
 *
 * @throws ServerFailed; ConfigError after the process has printed the reason, for example that the port is in use
 */
export const startEdgeProcesses = async (options: {
  readonly config: Pick<Config, 'admin' | 'dataDir' | 'edge' | 'edgeProcesses' | 'spool'>;
  readonly databaseUrl: string;
  readonly onRestarted: (restarted: Restarted) => void;
  readonly logger: Logger;
}) => {
  const { config, databaseUrl, onRestarted, logger } = options;
  const { admin, dataDir, edge, edgeProcesses, spool } = config;
  // With port 0, each process would listen on a different port.
  const port = edge.port === 0 ? await freePort() : edge.port;
  await endOrphanServices(dataDir, logger);
  const parts = new Parts();
  const start = (index: number) => {
    const service = startService({
      kind: 'edge',
      index,
      dir: serviceDir(dataDir, 'edge', index),
      env: {
        ...inheritedEnvironment(),
        DATABASE_URL: databaseUrl,
        SPOOL_DIR: spool.root,
        EDGE_PROCESSES: '1',
      },
      ports: {
        EDGE_PORT: String(port),
        ADMIN_PORT: String(admin.port === 0 ? 0 : admin.port + 1 + index),
      },
      sharesPorts: true,
      logger,
    });
    return parts.add('edge', index, service);
  };
  const starting = Array.from({ length: edgeProcesses }, (_, index) => start(index));
  try {
    // Only a process that has started can be stopped.
    await Promise.allSettled(starting);
    const services = await Promise.all(starting);
    parts.keepRunning(logger, onRestarted);
    return {
      address: { ...edge, port, url: services[0]?.ready.edge ?? '' },
      processes: services.map(({ pid, ready }) => ({ pid, admin: ready.admin })),
      /** Makes the processes not ready, although they still serve. */
      beginDraining: () => {
        parts.beginDraining();
      },
      stop: () => parts.stop(),
    };
  } catch (error) {
    await parts.stop();
    throw error;
  }
};
