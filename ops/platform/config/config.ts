import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import path from 'node:path';
import { z } from 'zod';
import { trustIn, trustNobody, type ProxyTrust } from '../http/client-address.js';
import { kafkaSettings, kafkaVariables } from './kafka-environment.js';
import type { KafkaSettings } from '../event-log/kafka/settings.js';
import { defaultPlanTable, planTable, type PlanTable } from '../../../schemas/plans.js';

/** The environment is wrong: one line that names the variable. Ends a process with exit code 78. */
export class ConfigError extends Error {
  readonly code: string = 'CONFIG';
  readonly retryable = false;
}

/** sysexits.h, EX_CONFIG. */
export const configExitCode = 78;

const port = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number from 0 to 65535')
  .transform(Number)
  .refine((value) => value <= 65_535, 'must be a port number from 0 to 65535');

const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .transform((value) => value.replace(/(?<!\/)\/+$/, ''));

const bindAddress = z
  .string()
  .refine((value) => isIP(value) !== 0 || /^[a-z0-9.-]+$/i.test(value), 'must be an address');

/** Comma-separated CIDRs, or single addresses. */
const addressBlocks = z.string().transform((text, ctx) => {
  const blocks = new BlockList();
  for (const block of text.split(',').map((part) => part.trim())) {
    const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(block) ?? [];
    const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
    const length = prefix === undefined ? bits : Number(prefix);
    // A zone names an interface of this machine: it is no part of a block.
    if (bits === 0 || length > bits || address.includes('%')) {
      ctx.addIssue(`must be CIDRs such as 10.0.0.0/8,2001:db8::/32, separated by commas`);
      return z.NEVER;
    }
    blocks.addSubnet(address, length, bits === 32 ? 'ipv4' : 'ipv6');
  }
  return trustIn(blocks);
});

/** What the client of EventStoreDB understands; of anything else it warns by quoting all, secrets too. */
const eventStoreOptions = [
  'tls',
  'tlsCAFile',
  'userCertFile',
  'userKeyFile',
  'connectionName',
  'defaultDeadline',
  'discoveryInterval',
  'gossipTimeout',
  'keepAliveInterval',
  'keepAliveTimeout',
  'maxDiscoverAttempts',
  'nodePreference',
] as const;

const eventStoreUrl = z
  .string()
  .regex(
    /^esdb(\+discover)?:\/\/([^\s:@/?]+:[^\s@/?]+@)?[^\s:@/?,]+(:\d{1,5})?(,[^\s:@/?,]+(:\d{1,5})?)*\/?(\?[^\s?]+)?$/,
    'must be a connection string such as esdb://user:password@host:2113?tls=true',
  )
  .superRefine((value, ctx) => {
    for (const option of new URLSearchParams(value.split('?')[1]).keys()) {
      if (eventStoreOptions.some((known) => known === option)) continue;
      ctx.addIssue(`has an option that is none of ${eventStoreOptions.join(', ')}`);
    }
  });
/** Comma-separated hosts, with a port or without, as URLs. */
const hostList = z.string().transform((text, ctx) => {
  const urls = text.split(',').map((part) => `http://${part.trim()}`);
  for (const url of urls) {
    // A path, a name or a query would make it longer.
    if (URL.canParse(url) && new URL(url).href === `${new URL(url).origin}/`) continue;
    ctx.addIssue('must be hosts such as api.example.com,10.0.0.5:8080, separated by commas');
    return z.NEVER;
  }
  return urls;
});

const environment = z.object({
  HOST: bindAddress.default('127.0.0.1'),
  API_HOST: bindAddress.optional(),
  EDGE_HOST: bindAddress.optional(),
  ADMIN_HOST: bindAddress.default('127.0.0.1'),
  API_PORT: port.default(8080),
  EDGE_PORT: port.default(8081),
  ADMIN_PORT: port.default(8082),
  SHORT_URL_HOST: httpUrl.optional(),
  OWN_HOSTS: hostList.default([]),
  UPGRADE_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .default('https://example.com/billing'),
  ADMIN_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,256}$/, 'must be 16 to 256 visible ASCII characters')
    .optional(),
  DATA_DIR: z.string().default('.data'),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' })
    .optional(),
  PLANS_FILE: z.string().optional(),
  TRUSTED_PROXIES: addressBlocks.optional(),
  BLOCKLIST_FILE: z.string().optional(),
  SAFE_BROWSING_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]{1,256}$/, 'must be 1 to 256 visible ASCII characters')
    .optional(),
  SAFE_BROWSING_URL: httpUrl.optional(),
  SEAL_KEY_FILE: z.string().optional(),
  ROOT_REDIRECT: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      error: 'must be one of trace, debug, info, warn, error, fatal, silent',
    })
    .default('info'),
  SPOOL_MAX_BYTES: z
    .string()
    .regex(/^\d{1,15}$/, 'must be a number of bytes')
    .transform(Number)
    .refine((value) => value >= 1_048_576, 'must be at least 1048576 (1 MiB)')
    .default(1_073_741_824),
  SPOOL_FSYNC: z
    .enum(['0', '1'], { error: 'must be 0 or 1' })
    .default('0')
    .transform((value) => value === '1'),
  ...kafkaVariables,
  REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: 'must be a redis:// or rediss:// URL' })
    .optional(),
  EVENTSTORE_URL: eventStoreUrl.optional(),
});

export interface Listen {
  readonly host: string;
  readonly port: number;
}

export interface Config {
  readonly api: Listen;
  readonly edge: Listen;
  readonly admin: Listen;
  /** Without a trailing slash; `null`: made from the edge's port once that is known. */
  readonly shortUrlHost: string | null;
  /** Where else our listeners are reached, as URLs: no destination may lead there. */
  readonly ownHosts: readonly string[];
  readonly upgradeUrl: string;
  /** `null`: generated on the first start. */
  readonly adminToken: string | null;
  /** Absolute. */
  readonly dataDir: string;
  /** `null`: the embedded PostgreSQL. */
  readonly databaseUrl: string | null;
  /** `null`: the log is embedded, in PostgreSQL. */
  readonly kafka: KafkaSettings | null;
  /** The edges' shared cache; `null`: none. */
  readonly redisUrl: string | null;
  /** The archive, a connection string of EventStoreDB; `null`: none. */
  readonly eventStoreUrl: string | null;
  readonly plans: PlanTable;
  /** Whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: ProxyTrust;
  readonly safety: {
    /** Absolute; `null`: the built-in list. */
    readonly blocklistFile: string | null;
    /** `null`: the blocklist alone. */
    readonly safeBrowsing: { readonly apiKey: string; readonly url: string } | null;
  };
  /** What signs the log's seals. Absolute; `null`: in the data directory where all runs in one process. */
  readonly sealKeyFile: string | null;
  readonly rootRedirect: string | null;
  readonly logLevel: string;
  readonly spool: { readonly maxBytes: number; readonly fsync: boolean };
}

const refuse = (message: string): never => {
  throw new ConfigError(message);
};

const readPlans = (file: string): PlanTable => {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    // A message about bad JSON quotes the file, line breaks and all.
    const reason = (cause as Error).message.replace(/\s+/g, ' ');
    throw new ConfigError(`PLANS_FILE cannot be read: ${reason}`, { cause });
  }
  const parsed = planTable.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = issue?.path.length ? `${issue.path.join('.')}: ` : '';
  throw new ConfigError(`PLANS_FILE: ${place}${issue?.message ?? ''}`);
};

/** A file that its user reads later, and must be able to. */
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

const safeBrowsing = (
  apiKey: string | undefined,
  url = 'https://safebrowsing.googleapis.com',
): Config['safety']['safeBrowsing'] => (apiKey === undefined ? null : { apiKey, url });

/** What a service that is started from here gets of our environment; it runs in another folder. */
export const inheritedEnvironment = (env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv => {
  const files = ['PLANS_FILE', 'BLOCKLIST_FILE', 'SEAL_KEY_FILE'].flatMap((name) => {
    const file = env[name] ?? '';
    return file === '' ? [] : [[name, path.resolve(file)] as const];
  });
  return { ...env, ...Object.fromEntries(files) };
};

/**
 * Reads and validates the configuration: the only place that knows the environment. An empty
 * variable is an unset one.
 *
 * @throws ConfigError
 */
export const readConfig = (env: NodeJS.ProcessEnv = process.env): Config => {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = environment.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ConfigError(`${String(issue?.path[0])} ${issue?.message ?? 'is invalid'}`);
  }
  const vars = parsed.data;
  if (vars.SAFE_BROWSING_URL !== undefined && vars.SAFE_BROWSING_API_KEY === undefined) {
    throw new ConfigError('SAFE_BROWSING_URL needs SAFE_BROWSING_API_KEY beside it');
  }
  return {
    api: { host: vars.API_HOST ?? vars.HOST, port: vars.API_PORT },
    edge: { host: vars.EDGE_HOST ?? vars.HOST, port: vars.EDGE_PORT },
    admin: { host: vars.ADMIN_HOST, port: vars.ADMIN_PORT },
    shortUrlHost: vars.SHORT_URL_HOST ?? null,
    ownHosts: vars.OWN_HOSTS,
    upgradeUrl: vars.UPGRADE_URL,
    adminToken: vars.ADMIN_TOKEN ?? null,
    dataDir: path.resolve(vars.DATA_DIR),
    databaseUrl: vars.DATABASE_URL ?? null,
    kafka: kafkaSettings(vars, refuse),
    redisUrl: vars.REDIS_URL ?? null,
    eventStoreUrl: vars.EVENTSTORE_URL ?? null,
    plans: vars.PLANS_FILE === undefined ? defaultPlanTable : readPlans(vars.PLANS_FILE),
    trustedProxies: vars.TRUSTED_PROXIES ?? trustNobody,
    safety: {
      blocklistFile:
        vars.BLOCKLIST_FILE === undefined
          ? null
          : readableFile('BLOCKLIST_FILE', vars.BLOCKLIST_FILE),
      safeBrowsing: safeBrowsing(vars.SAFE_BROWSING_API_KEY, vars.SAFE_BROWSING_URL),
    },
    sealKeyFile: vars.SEAL_KEY_FILE === undefined ? null : path.resolve(vars.SEAL_KEY_FILE),
    rootRedirect: vars.ROOT_REDIRECT ?? null,
    logLevel: vars.LOG_LEVEL,
    spool: { maxBytes: vars.SPOOL_MAX_BYTES, fsync: vars.SPOOL_FSYNC },
  };
};
