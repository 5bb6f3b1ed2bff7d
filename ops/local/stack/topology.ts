import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The kinds of service, as the ready line names them; each is a process of its own. */
export const serviceKinds = ['api', 'edge', 'projector'] as const;

export type ServiceKind = (typeof serviceKinds)[number];

/**
 * What the stack and docker-compose.yml start: the argument of `node dist/ops/main.js`, how many unless
 * told, the ports of the listeners (`ADMIN_PORT` has health and metrics), and the variables besides.
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

/** The variables of one kind besides those of the servers. */
export type Variables<Kind extends ServiceKind> = Readonly<
  Record<(typeof topology)[Kind]['variables'][number], string>
>;

/** The variables that name the servers, to all services; EVENTSTORE_URL is empty where there is none. */
export const serverVariables = [
  'KAFKA_BROKERS',
  'DATABASE_URL',
  'REDIS_URL',
  'EVENTSTORE_URL',
] as const;

export type Servers = Readonly<Record<(typeof serverVariables)[number], string>>;

const folder = new RegExp(`^(${serviceKinds.join('|')})-\\d+$`);

/** The DATA_DIR of a service, within the stack's. */
export const serviceDir = (dataDir: string, kind: ServiceKind, index: number): string =>
  join(dataDir, `${kind}-${index}`);

/** Those of all services that ever ran in this data directory; none where it is not a stack's. */
export const serviceDirs = (dataDir: string): readonly string[] => {
  const names = existsSync(dataDir) ? readdirSync(dataDir) : [];
  return names.filter((name) => folder.test(name)).map((name) => join(dataDir, name));
};

/** More than that would be of no use on one machine: a partition has three replicas at most. */
export const brokersAtMost = 5;

/** The folders of the first Kafka brokers, within the stack's. */
export const brokerDirs = (dataDir: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) =>
    join(dataDir, index === 0 ? 'kafka' : `kafka-${index + 1}`),
  );
