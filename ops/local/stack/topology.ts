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
    variables: ['SPOOL_DIR'],
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
