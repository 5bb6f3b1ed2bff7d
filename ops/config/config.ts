import { createPrivateKey, X509Certificate } from 'node:crypto';
import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import type { KafkaSettings } from '../event-log/kafka/settings.js';
import { trustNone } from '../http/client-address.js';
import { ownHosts } from '../http/own-hosts.js';
import { parseUrl } from '../../schemas/parse-url.js';
import {
  defaultPlanTable,
  planTable,
  unlimitedPlanTable,
  type PlanTable,
} from '../../schemas/plans.js';
import type { Listen } from '../http/server.js';
import { absoluteConnectionUrl, parseConnectionUrl } from '../platform/postgres/connection-url.js';
import { ConfigError } from '../platform/errors.js';
import { signInOf } from './people.js';
import { withSecretsOfFiles } from './secrets.js';
import { kafkaSettings, kafkaVariables, variables } from './variables.js';

/** The values of file variables that name no file. */
const builtIn: Readonly<Partial<Record<string, string>>> = {
  GEOIP_FILE: 'none',
  PLANS_FILE: 'unlimited',
};

const plansOf = (file: string | undefined): PlanTable => {
  if (file === undefined) return defaultPlanTable;
  if (file === builtIn['PLANS_FILE']) return unlimitedPlanTable;
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    // A JSON syntax error quotes the file with its line breaks.
    const reason = (cause as Error).message.replace(/\s+/g, ' ');
    throw new ConfigError(`PLANS_FILE cannot be read: ${reason}`, { cause });
  }
  const parsed = planTable.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.length ? `${issue.path.join('.')}: ` : '';
  throw new ConfigError(`PLANS_FILE: ${field}${issue?.message ?? ''}`);
};

/** IPv4 and IPv6, from the whois records of autonomous systems; CC0. */
const bundledCountries = fileURLToPath(
  import.meta.resolve('@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb'),
);

/** Returns the absolute path of a file that is read later. @throws ConfigError if it cannot be read */
const readableFile = (variable: string, file: string): string => {
  const absolute = path.resolve(file);
  try {
    accessSync(absolute, constants.R_OK);
    if (statSync(absolute).isDirectory()) throw new Error(`${absolute} is a directory`);
  } catch (cause) {
    throw new ConfigError(`${variable} cannot be read: ${(cause as Error).message}`, { cause });
  }
  return absolute;
};

/** The content of a PEM file that `parse` accepts. @throws ConfigError */
const pemFile =
  (content: string, parse: (pem: string) => unknown) =>
  (variable: string, file: string): string => {
    const pem = readFileSync(readableFile(variable, file), 'utf8');
    try {
      parse(pem);
    } catch (cause) {
      const reason = (cause as Error).message.replace(/\s+/g, ' ');
      throw new ConfigError(`${variable} has no ${content} in PEM format: ${reason}`, { cause });
    }
    return pem;
  };

const readPem = {
  certificate: pemFile('certificate', (pem) => new X509Certificate(pem)),
  key: pemFile('unencrypted private key', createPrivateKey),
};

const kafkaOf = (vars: z.infer<typeof variables>): KafkaSettings | null => {
  const settings = kafkaSettings(vars, readPem);
  const client = settings?.ssl ? settings.ssl.client : null;
  if (client && !new X509Certificate(client.cert).checkPrivateKey(createPrivateKey(client.key))) {
    throw new ConfigError('KAFKA_SSL_KEY_FILE does not match KAFKA_SSL_CERT_FILE');
  }
  return settings;
};

/** @throws ConfigError */
const databaseUrlOf = (vars: z.infer<typeof variables>): string | null => {
  if (vars.DATABASE_URL === undefined) return null;
  const url = absoluteConnectionUrl(vars.DATABASE_URL, vars.PGSSLMODE);
  const { sslrootcert, sslcert, sslkey } = parseConnectionUrl(url).tls.files;
  if (sslrootcert !== undefined) readPem.certificate('DATABASE_URL: sslrootcert', sslrootcert);
  if (sslcert === undefined || sslkey === undefined) return url;
  const cert = readPem.certificate('DATABASE_URL: sslcert', sslcert);
  const key = readPem.key('DATABASE_URL: sslkey', sslkey);
  if (new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return url;
  throw new ConfigError('DATABASE_URL: sslkey does not match sslcert');
};

const geoipFileOf = (given: string | undefined): string | null => {
  if (given === undefined) return bundledCountries;
  return given === builtIn['GEOIP_FILE'] ? null : readableFile('GEOIP_FILE', given);
};

const configOf = (vars: z.infer<typeof variables>) => ({
  api: { host: vars.API_HOST ?? vars.HOST, port: vars.API_PORT } satisfies Listen,
  edge: { host: vars.EDGE_HOST ?? vars.HOST, port: vars.EDGE_PORT } satisfies Listen,
  /** Whether the edge serves plain redirects without node:http. */
  edgeLane: vars.EDGE_LANE,
  edgeProcesses: vars.EDGE_PROCESSES,
  /** The bound of the links in memory of an edge process. */
  edgeCacheBytes: vars.EDGE_CACHE_MB * 1_048_576,
  admin: {
    host: vars.ADMIN_HOST,
    port: vars.ADMIN_PORT,
    /** The accepted host names, in addition to IP addresses and `localhost`. */
    names: [
      vars.ADMIN_HOST,
      ...[...vars.ADMIN_HOSTS, vars.ADMIN_CONSOLE_URL ?? []]
        .flat()
        .map((url) => new URL(url).hostname),
    ],
  } satisfies Listen & { names: readonly string[] },
  /** The base of short URLs, without a trailing slash; `null`: `localhost` with the edge's port. */
  shortUrlHost: vars.SHORT_URL_HOST ?? null,
  /** Other URLs of our listeners, which are refused as destinations. */
  ownHosts: vars.OWN_HOSTS,
  /** Of generated codes, unless the plan has another one. */
  codeLength: vars.CODE_LENGTH,
  /** Of codes on the default domain. The first start chooses it. */
  codesCase: vars.CODES_CASE,
  /** Schemes of destinations beside http and https. */
  destinationSchemes: vars.DESTINATION_SCHEMES,
  upgradeUrl: vars.UPGRADE_URL ?? 'https://example.com/billing',
  /** The page of the plans, to which the console links; `null`: none. */
  plansUrl: vars.UPGRADE_URL ?? null,
  /** `null`: generated on the first start. */
  adminToken: vars.ADMIN_TOKEN ?? null,
  /** The token of GET /metrics, besides the admin token; `null`: loopback needs none. */
  metricsToken: vars.METRICS_TOKEN ?? null,
  /** Whether the first start creates a key and prints it. */
  makesFirstKey: vars.FIRST_KEY === 'print',
  /** How long the process serves after SIGTERM without being ready (ms). */
  drainDelayMs: vars.DRAIN_DELAY_MS,
  /** Whether the listeners serve the consoles. */
  console: vars.CONSOLE,
  /** Whether the API serves `POST /mcp`. */
  mcp: vars.MCP,
  /** How people sign in to the consoles. */
  signIn: signInOf(vars),
  /** The origins of the consoles; `null`: that of the request. */
  consoleOrigins: { api: vars.CONSOLE_URL ?? null, admin: vars.ADMIN_CONSOLE_URL ?? null },
  /** The origins of browser applications that may call /v2; `*`: every origin. */
  corsOrigins: vars.CORS_ORIGINS,
  dataDir: path.resolve(vars.DATA_DIR),
  /** Scheduled backups; `null`: none. */
  backups:
    vars.BACKUP_DIR === undefined
      ? null
      : { dir: path.resolve(vars.BACKUP_DIR), everyMs: vars.BACKUP_EVERY, keep: vars.BACKUP_KEEP },
  /** `null`: the embedded PostgreSQL. */
  databaseUrl: databaseUrlOf(vars),
  /** `null`: the log is embedded in PostgreSQL. */
  kafka: kafkaOf(vars),
  /** The edges' shared cache; `null`: none. */
  redisUrl: vars.REDIS_URL ?? null,
  /** The archive, a connection string of EventStoreDB; `null`: none. */
  eventStoreUrl: vars.EVENTSTORE_URL ?? null,
  plans: plansOf(vars.PLANS_FILE),
  /** An MMDB file with countries. Absolute; `null`: none. */
  geoipFile: geoipFileOf(vars.GEOIP_FILE),
  /** The proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: vars.TRUSTED_PROXIES ?? trustNone,
  safety: {
    /** Absolute; `null`: the built-in list. */
    blocklistFile:
      vars.BLOCKLIST_FILE === undefined
        ? null
        : readableFile('BLOCKLIST_FILE', vars.BLOCKLIST_FILE),
    /** `null`: the blocklist alone. */
    safeBrowsing:
      vars.SAFE_BROWSING_API_KEY === undefined
        ? null
        : {
            apiKey: vars.SAFE_BROWSING_API_KEY,
            url: vars.SAFE_BROWSING_URL ?? 'https://safebrowsing.googleapis.com',
          },
  },
  /** Absolute; `null`: in the data directory if all services run in one process. */
  sealKeyFile: vars.SEAL_KEY_FILE === undefined ? null : path.resolve(vars.SEAL_KEY_FILE),
  /** Where visitors of the default domain are redirected instead of a page; `null`: they get the page. */
  redirects: {
    rootRedirect: vars.ROOT_REDIRECT ?? null,
    notFoundRedirect: vars.NOT_FOUND_REDIRECT ?? null,
    expiredRedirect: vars.EXPIRED_REDIRECT ?? null,
  },
  /** The DNS servers for domains and webhooks; empty: those of the system. */
  dnsServers: vars.DNS_SERVERS,
  webhooks: {
    deliver: vars.WEBHOOKS,
    /** Networks that webhooks may reach in addition to public addresses; `null`: none. */
    networks: vars.WEBHOOK_NETWORKS ?? null,
  },
  /** The largest file of POST /v2/imports, in bytes before decompression. */
  maxImportBytes: vars.IMPORT_MAX_BYTES,
  logLevel: vars.LOG_LEVEL,
  /** Spans are exported to a collector; `null`: no tracing. */
  tracing:
    vars.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
      ? null
      : { protocol: vars.OTEL_EXPORTER_OTLP_PROTOCOL },
  spool: {
    root: path.resolve(vars.SPOOL_DIR ?? path.join(vars.DATA_DIR, 'spool')),
    maxBytes: vars.SPOOL_MAX_BYTES,
    fsync: vars.SPOOL_FSYNC,
  },
});

export type Config = Readonly<ReturnType<typeof configOf>>;

const fileVariables = [
  'PLANS_FILE',
  'BLOCKLIST_FILE',
  'GEOIP_FILE',
  'SEAL_KEY_FILE',
  'KAFKA_SSL_CA_FILE',
  'KAFKA_SSL_CERT_FILE',
  'KAFKA_SSL_KEY_FILE',
] as const satisfies readonly (keyof z.infer<typeof variables>)[];

/**
 * Returns the environment for a service that this process starts in another folder, with the values of secrets in files:
 * the caller may override them.
 */
export const inheritedEnvironment = (env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv => {
  const files = fileVariables.flatMap((name) => {
    const file = env[name] ?? '';
    return file !== '' && builtIn[name] !== file ? [[name, path.resolve(file)] as const] : [];
  });
  return { ...withSecretsOfFiles(env), ...Object.fromEntries(files) };
};

/** Returns the user who runs this process with sudo; `null` without sudo. */
export const sudoUser = (env: NodeJS.ProcessEnv = process.env): string | null =>
  env['SUDO_USER'] === undefined || env['SUDO_USER'] === '' ? null : env['SUDO_USER'];

/** A redirect to the own root would lead to itself. @throws ConfigError */
const requireOtherHosts = ({ redirects, ownHosts: others, ...config }: Config): void => {
  const { api, edge, admin, shortUrlHost } = config;
  const isOwn = ownHosts(
    [shortUrlHost ?? `http://localhost:${edge.port}`, ...others],
    [api, edge, admin],
  );
  for (const [name, url] of [
    ['ROOT_REDIRECT', redirects.rootRedirect],
    ['NOT_FOUND_REDIRECT', redirects.notFoundRedirect],
    ['EXPIRED_REDIRECT', redirects.expiredRedirect],
  ] as const) {
    const target = url === null ? null : parseUrl(url);
    if (target && isOwn(target)) {
      throw new ConfigError(
        `${name} must not lead to this installation (SHORT_URL_HOST, OWN_HOSTS, a listener)`,
      );
    }
  }
};

/** Returns a set and a missing variable of the group; `null` if the group is complete or unset. */
const incomplete = (
  group: Readonly<Record<string, unknown>>,
): readonly [variable: string, needs: string] | null => {
  const given = Object.entries(group).find(([, value]) => value !== undefined);
  const missing = Object.entries(group).find(([, value]) => value === undefined);
  return given && missing ? [given[0], missing[0]] : null;
};

/** Returns a variable that has no effect without another one, and the missing one; `null` if none is missing. */
const lacking = (
  vars: z.infer<typeof variables>,
): readonly [variable: string, needs: string] | null => {
  if (vars.SAFE_BROWSING_URL !== undefined && vars.SAFE_BROWSING_API_KEY === undefined) {
    return ['SAFE_BROWSING_URL', 'SAFE_BROWSING_API_KEY'];
  }
  const isSet = (value: unknown): boolean => value !== undefined && value !== false && value !== '';
  const [stray] = Object.entries(vars).filter(
    ([name, value]) => name in kafkaVariables && isSet(value),
  );
  if (stray && vars.KAFKA_BROKERS === undefined) return [stray[0], 'KAFKA_BROKERS'];
  const { KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD } = vars;
  const { KAFKA_SSL_CA_FILE, KAFKA_SSL_CERT_FILE, KAFKA_SSL_KEY_FILE } = vars;
  const files = { KAFKA_SSL_CA_FILE, KAFKA_SSL_CERT_FILE, KAFKA_SSL_KEY_FILE };
  const [file] = Object.entries(files).filter(([, value]) => value !== undefined);
  if (file && !vars.KAFKA_SSL) return [file[0], 'KAFKA_SSL=1'];
  return (
    incomplete({ KAFKA_SSL_CERT_FILE, KAFKA_SSL_KEY_FILE }) ??
    incomplete({ KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD })
  );
};

/**
 * Reads and validates the environment. An empty variable counts as unset. A new variable goes into `variables` and
 * `configOf`.
 *
 * @throws ConfigError
 */
export const readConfig = (env: NodeJS.ProcessEnv = process.env): Config => {
  const values = Object.entries(withSecretsOfFiles(env));
  const given = Object.fromEntries(values.filter(([, value]) => value !== ''));
  const parsed = variables.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ConfigError(`${String(issue?.path[0])} ${issue?.message ?? 'is invalid'}`);
  }
  const incomplete = lacking(parsed.data);
  if (incomplete) throw new ConfigError(`${incomplete[0]} requires ${incomplete[1]}`);
  const { KAFKA_REPLICAS = Infinity, KAFKA_MIN_INSYNC_REPLICAS = 0 } = parsed.data;
  if (KAFKA_MIN_INSYNC_REPLICAS > KAFKA_REPLICAS) {
    throw new ConfigError('KAFKA_MIN_INSYNC_REPLICAS must be at most KAFKA_REPLICAS');
  }
  const config = configOf(parsed.data);
  requireOtherHosts(config);
  return config;
};
