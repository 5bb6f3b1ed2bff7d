import { mkdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { deferred } from '../../platform/concurrency/deferred.js';
import { ConfigError, configExitCode } from '../../platform/errors.js';
import type { Logger } from '../../platform/logging.js';
import { describeExit, launch, type Child } from '../process/child.js';
import { ServerFailed } from '../process/errors.js';
import { endOrphans, processesIn } from '../process/orphans.js';
import { startServer } from '../process/server.js';
import { serviceDirs, topology, type ServiceKind } from './parts.js';

const mainFile = fileURLToPath(new URL('../../main.js', import.meta.url));

const readyLine = z.object({
  event: z.literal('ready'),
  api: z.string().optional(),
  edge: z.string().optional(),
  admin: z.string(),
});

/** Additional fields of the ready line of a new installation. */
const firstKey = z.object({
  firstKey: z.string(),
  firstKeyHeader: z.string().exactOptional(),
  console: z.string().exactOptional(),
});

type Ready = z.infer<typeof readyLine> & { readonly key: z.infer<typeof firstKey> | null };

/** Returns the ready line of a starting process. Its text for humans is dropped, because the stack prints its own. */
const readReadyLine = (child: Child): Promise<Ready> => {
  const { promise, resolve, reject } = deferred<Ready>();
  const { stdout } = child.process;
  if (stdout === null) throw new Error('the stdout of a service is piped');
  createInterface({ input: stdout }).on('line', (line) => {
    if (!line.startsWith('{"event":"ready"')) return;
    const fields: unknown = JSON.parse(line);
    resolve({ ...readyLine.parse(fields), key: firstKey.safeParse(fields).data ?? null });
  });
  void child.exited.then((exit) => {
    const message = `${child.name} ended at its start (${describeExit(exit)})`;
    // The process has printed the reason on stderr.
    const isMisconfigured = exit.exitCode === configExitCode;
    reject(isMisconfigured ? new ConfigError(message) : new ServerFailed(message));
  });
  return promise;
};

const portOf = (address: string | undefined): string => new URL(address ?? '').port;

const portsOf = (kind: ServiceKind, { api, edge, admin }: Ready): Record<string, string> => {
  const addresses: Record<string, string | undefined> = {
    API_PORT: api,
    EDGE_PORT: edge,
    ADMIN_PORT: admin,
  };
  return Object.fromEntries(topology[kind].ports.map((name) => [name, portOf(addresses[name])]));
};

/** Node's process name before version 24 and since. */
const nodePrograms = ['node', 'MainThread'];

/** Ends the services that a killed supervisor has left. Each server ends its own orphans when it starts. */
export const endOrphanServices = async (dataDir: string, logger: Logger): Promise<void> => {
  const end = (dir: string): Promise<void> =>
    endOrphans({ name: 'service', dir, find: () => processesIn(dir, nodePrograms), logger });
  await Promise.all(serviceDirs(dataDir).map(end));
};

/**
 * Starts a service as a process in its own directory and waits until it is ready. A restart does not change its ports.
 *
 * @throws ServerFailed if it exits; ConfigError if the environment is the cause
 */
export const startService = async (options: {
  readonly kind: ServiceKind;
  readonly index: number;
  /** DATA_DIR and the working directory. */
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly sharesPorts?: boolean;
  /** The ports of its first start. */
  readonly ports: Readonly<Record<string, string>>;
  readonly logger: Logger;
}) => {
  const { kind, index, dir, env, sharesPorts = false, logger } = options;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  let { ports } = options;
  const readyLines: Ready[] = [];
  const server = await startServer({
    port: 0,
    begin: () =>
      launch({
        name: `${kind} ${index}`,
        program: process.execPath,
        args: [mainFile, topology[kind].role],
        dir,
        // The supervisor has the delay.
        env: { ...env, ...ports, DATA_DIR: dir, DRAIN_DELAY_MS: '0' },
        logFile: null,
        sharesPorts,
        logger,
      }),
    ready: async (child) => {
      const ready = await readReadyLine(child);
      readyLines.push(ready);
      ports = portsOf(kind, ready);
    },
  });
  const [ready] = readyLines;
  if (ready === undefined) throw new Error(`${kind} ${index} started without a ready line`);
  return Object.assign(server, { ready });
};

export type ServiceProcess = Awaited<ReturnType<typeof startService>>;
