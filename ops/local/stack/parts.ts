import type { Logger } from '../../platform/logging.js';
import { keepRunning, type Server } from '../process/server.js';
import { notReadySignal } from '../../platform/process/lifecycle.js';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export const serviceKinds = ['api', 'edge', 'projector'] as const;

export type ServiceKind = (typeof serviceKinds)[number];

/**
 * The processes of the stack and docker-compose.yml: the argument of `node dist/ops/main.js`, the default count, the
 * ports of the listeners (`ADMIN_PORT` serves health and metrics), and additional variables.
 */
export const topology = {
  api: {
    role: 'api',
    count: 2,
    ports: ['API_PORT', 'ADMIN_PORT'],
    variables: ['ADMIN_TOKEN', 'SHORT_URL_HOST', 'OWN_HOSTS'],
  },
  edge: {
    role: 'edge',
    count: 2,
    ports: ['EDGE_PORT', 'ADMIN_PORT'],
    variables: ['SPOOL_DIR', 'SHORT_URL_HOST'],
  },
  projector: {
    role: 'projectors',
    count: 2,
    ports: ['ADMIN_PORT'],
    variables: ['SEAL_KEY_FILE'],
  },
} as const satisfies Record<ServiceKind, unknown>;

export type Variables<Kind extends ServiceKind> = Readonly<
  Record<(typeof topology)[Kind]['variables'][number], string>
>;

/** The variables of all services that name the servers; EVENTSTORE_URL is empty without an archive. */
export const serverVariables = [
  'KAFKA_BROKERS',
  'DATABASE_URL',
  'REDIS_URL',
  'EVENTSTORE_URL',
] as const;

export type Servers = Readonly<Record<(typeof serverVariables)[number], string>>;

const folder = new RegExp(`^(${serviceKinds.join('|')})-\\d+$`);

export const serviceDir = (dataDir: string, kind: ServiceKind, index: number): string =>
  join(dataDir, `${kind}-${index}`);

/** The directories of all services that ever ran in this data directory; empty if it is not a stack's. */
export const serviceDirs = (dataDir: string): readonly string[] => {
  const names = existsSync(dataDir) ? readdirSync(dataDir) : [];
  return names.filter((name) => folder.test(name)).map((name) => join(dataDir, name));
};

/** A partition has three replicas at most, so more brokers are of no use on one machine. */
export const maxBrokers = 5;

export const brokerDirs = (dataDir: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) =>
    join(dataDir, index === 0 ? 'kafka' : `kafka-${index + 1}`),
  );

const serverKinds = ['kafka', 'postgres', 'redis'] as const;

export type PartKind = ServiceKind | (typeof serverKinds)[number];

const partKinds: readonly PartKind[] = [...serviceKinds, ...serverKinds];

export type Pids = Readonly<Record<PartKind, readonly number[]>>;

const byKind = <Value>(make: (kind: PartKind) => Value): Record<PartKind, Value> =>
  Object.fromEntries(partKinds.map((kind) => [kind, make(kind)])) as Record<PartKind, Value>;

/** The rest of the 10 s of a stop after the services, which take 6 s at most. */
const serverStopTimeoutMs = 3_000;

export interface Restarted {
  readonly service: PartKind;
  readonly index: number;
  readonly pid: number;
}

export class Parts {
  readonly #parts = byKind((): Server[] => []);
  readonly #stopping = new AbortController();

  /** Adds a part when it has started. A part that fails to start has no process. */
  async add<Part extends Server>(
    kind: PartKind,
    index: number,
    starting: Promise<Part>,
  ): Promise<Part> {
    const part = await starting;
    this.#parts[kind][index] = part;
    return part;
  }

  #partsOf(kind: PartKind): readonly Server[] {
    // `flat` removes the holes of parts that have not started.
    return this.#parts[kind].flat();
  }

  pids(): Pids {
    return byKind((kind) => this.#partsOf(kind).map(({ pid }) => pid));
  }

  keepRunning(logger: Logger, onRestarted: (restarted: Restarted) => void): void {
    const { signal } = this.#stopping;
    for (const kind of partKinds) {
      for (const [index, part] of this.#partsOf(kind).entries()) {
        keepRunning(part, {
          name: `${kind} ${index}`,
          signal,
          onRestarted: () => {
            onRestarted({ service: kind, index, pid: part.pid });
          },
          logger,
        });
      }
    }
  }

  /** Makes the services not ready, although they still serve. */
  beginDraining(): void {
    for (const kind of serviceKinds) {
      for (const service of this.#partsOf(kind)) service.kill(notReadySignal);
    }
  }

  /** Stops the services first, in parallel, because they ship their spools to the servers. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const services = serviceKinds.flatMap((kind) => this.#partsOf(kind));
    await Promise.all(services.map((part) => part.stop()));
    const servers = serverKinds.flatMap((kind) => this.#partsOf(kind));
    const killTimer = setTimeout(() => {
      // The next start recovers all acknowledged data.
      for (const server of servers) server.kill('SIGKILL');
    }, serverStopTimeoutMs);
    await Promise.all(servers.map((server) => server.stop()));
    clearTimeout(killTimer);
  }
}
