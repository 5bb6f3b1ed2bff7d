import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The kinds of service, as the ready line names them; each is a process of its own. */
export const serviceKinds = ['api', 'edge', 'projector'] as const;

export type ServiceKind = (typeof serviceKinds)[number];

interface Service {
  /** The argument of `node dist/ops/main.js`. */
  readonly role: string;
  /** How many there are unless told. */
  readonly count: number;
  /** The listeners that it has; `ADMIN_PORT` is where health and metrics are on all. */
  readonly ports: readonly string[];
}

/** What the stack and docker-compose.yml start. */
export const topology: Readonly<Record<ServiceKind, Service>> = {
  api: { role: 'api', count: 2, ports: ['API_PORT', 'ADMIN_PORT'] },
  edge: { role: 'edge', count: 2, ports: ['EDGE_PORT', 'ADMIN_PORT'] },
  projector: { role: 'projectors', count: 2, ports: ['ADMIN_PORT'] },
};

/** The servers behind the services, as these are told of them. */
export interface Servers {
  readonly kafka: string;
  readonly postgres: string;
  readonly redis: string;
  /** Empty where there is none. */
  readonly eventStore: string;
}

export const serverVariables = (servers: Servers) =>
  ({
    KAFKA_BROKERS: servers.kafka,
    DATABASE_URL: servers.postgres,
    REDIS_URL: servers.redis,
    EVENTSTORE_URL: servers.eventStore,
  }) as const;

/** What the APIs are told besides. */
export const apiVariables = (api: {
  readonly adminToken: string;
  readonly shortUrlHost: string;
  /** Where all services listen, separated by commas: no destination may lead there. */
  readonly ownHosts: string;
}) =>
  ({
    ADMIN_TOKEN: api.adminToken,
    SHORT_URL_HOST: api.shortUrlHost,
    OWN_HOSTS: api.ownHosts,
  }) as const;

/** What the projectors are told besides. */
export const projectorVariables = (projector: {
  /** One key for all of them. */
  readonly sealKeyFile: string;
}) =>
  ({
    SEAL_KEY_FILE: projector.sealKeyFile,
  }) as const;

const folder = new RegExp(`^(${serviceKinds.join('|')})-\\d+$`);

/** The DATA_DIR of a service, within the stack's. */
export const serviceDir = (dataDir: string, kind: ServiceKind, index: number): string =>
  join(dataDir, `${kind}-${index}`);

/** Those of all services that ever ran in a stack's; none where it is no stack's. */
export const serviceDirs = (dataDir: string): readonly string[] => {
  const names = existsSync(dataDir) ? readdirSync(dataDir) : [];
  return names.filter((name) => folder.test(name)).map((name) => join(dataDir, name));
};
