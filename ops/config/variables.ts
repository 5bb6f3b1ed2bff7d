/** The environment variables and their validation. */
import { BlockList, isIP } from 'node:net';
import { z } from 'zod';
import type { KafkaSettings, KafkaTls } from '../event-log/kafka/settings.js';
import { destinationPattern } from '../../schemas/http/link-fields.js';
import type { DnsServer } from '../platform/networks/dns.js';
import { sslModes } from '../platform/postgres/connection-url.js';
import { origin } from './origin.js';
import { peopleVariables } from './people.js';
import { trustIn } from '../http/client-address.js';
import { parseUrl } from '../../schemas/parse-url.js';

const port = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number from 0 to 65535')
  .transform(Number)
  .refine((value) => value <= 65_535, 'must be a port number from 0 to 65535');

const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
const httpUrlWithoutSlash = httpUrl.transform((value) => value.replace(/(?<!\/)\/+$/, ''));

const byteCount = (least: number, error: string) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a number of bytes')
    .transform(Number)
    .refine((value) => value >= least, error);

const bindAddress = z
  .string()
  .refine((value) => isIP(value) !== 0 || /^[a-z0-9.-]+$/i.test(value), 'must be an address');

/** Comma-separated CIDRs, or single addresses. */
const addressBlocks = z.string().transform((text, ctx): BlockList => {
  const blocks = new BlockList();
  for (const block of text.split(',').map((part) => part.trim())) {
    const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(block) ?? [];
    const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
    const length = prefix === undefined ? bits : Number(prefix);
    // An IPv6 zone is local to this machine.
    if (bits === 0 || length > bits || address.includes('%')) {
      ctx.addIssue(`must be CIDRs such as 10.0.0.0/8,2001:db8::/32, separated by commas`);
      return z.NEVER;
    }
    blocks.addSubnet(address, length, bits === 32 ? 'ipv4' : 'ipv6');
  }
  return blocks;
});

/** The options of EventStoreDB's client. Its warning about another option would log the string with its password. */
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
    /^(?:esdb|kurrentdb|kdb)(\+discover)?:\/\/([^\s:@/?]+:[^\s@/?]+@)?[^\s:@/?,]+(:\d{1,5})?(,[^\s:@/?,]+(:\d{1,5})?)*\/?(\?[^\s?]+)?$/,
    'must be a connection string such as esdb://user:password@host:2113?tls=true',
  )
  .superRefine((value, ctx) => {
    for (const option of new URLSearchParams(value.split('?')[1]).keys()) {
      if (eventStoreOptions.some((known) => known === option)) continue;
      ctx.addIssue(`has an option that is none of ${eventStoreOptions.join(', ')}`);
    }
  });

/** Comma-separated hosts with an optional port; the result are URLs. */
const hostList = z.string().transform((text, ctx) => {
  const urls = text.split(',').map((part) => `http://${part.trim()}`);
  for (const url of urls) {
    // A user name, a path or a query makes the URL longer than its origin.
    const parsed = parseUrl(url);
    if (parsed?.href === `${parsed?.origin}/`) continue;
    ctx.addIssue('must be hosts such as api.example.com,10.0.0.5:8080, separated by commas');
    return z.NEVER;
  }
  return urls;
});

/** Browsers execute them, or read local data or files. */
const unsafeSchemes = [
  ...['javascript', 'data', 'vbscript', 'file', 'blob', 'about', 'view-source', 'filesystem'],
];

/** Comma-separated schemes of destinations. */
const schemeList = z.string().transform((text, ctx): readonly string[] => {
  const schemes = text.split(',').map((part) => part.trim().toLowerCase());
  const unsafe = schemes.find((scheme) => unsafeSchemes.includes(scheme));
  if (unsafe !== undefined) ctx.addIssue(`must not permit ${unsafe}, which is unsafe`);
  else if (!schemes.every((scheme) => /^(?!https?$)[a-z][a-z\d+.-]{0,30}$/.test(scheme))) {
    ctx.addIssue('must be schemes beside http and https, such as mailto,tel, separated by commas');
  }
  return schemes;
});

/** Comma-separated origins as browsers send them, or `*`. */
const origins = z.string().transform((text, ctx): '*' | readonly string[] => {
  if (text.trim() === '*') return '*';
  return text.split(',').map((part) => {
    const url = /^\s*https?:\/\/[^/?#@*\s]+\s*$/i.test(part) ? parseUrl(part.trim()) : null;
    if (url) return url.origin;
    ctx.addIssue('must be * or origins such as https://app.example.com, separated by commas');
    return z.NEVER;
  });
});

/** `host:port`, an IPv6 address in brackets. */
const broker = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+):\d{1,5}$/i;
const flagOr = (initial: '0' | '1') =>
  z
    .enum(['0', '1'], { error: 'must be 0 or 1' })
    .default(initial)
    .transform((value) => value === '1');
const flag = flagOr('0');
const numberFrom = (min: number, max: number, unit: string) => {
  const error = `must be a ${unit} from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,5}$/, error)
    .transform(Number)
    .refine((value) => value >= min && value <= max, error);
};
const upTo99 = z
  .string()
  .regex(/^[1-9]\d?$/, 'must be a number from 1 to 99')
  .transform(Number);
const copies = upTo99.optional();
/** The result is in milliseconds. */
const interval = z
  .string()
  .regex(/^[1-9]\d{0,3}[mhd]$/, 'must be a time such as 30m, 24h or 7d')
  .transform(
    (text) =>
      Number.parseInt(text) *
      { m: 60_000, h: 3_600_000, d: 86_400_000 }[text.slice(-1) as 'm' | 'h' | 'd'],
  );
const secret = z.string().max(1_000, 'must have at most 1000 characters').optional();

const samplers = [
  ...['always_on', 'always_off', 'traceidratio'],
  ...['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'],
];
const bearerSecret = z
  .string()
  .regex(/^[\x21-\x7e]{16,256}$/, 'must be 16 to 256 visible ASCII characters');

export const kafkaVariables = {
  KAFKA_BROKERS: z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .refine((brokers) => brokers.every((address) => broker.test(address)), {
      error: 'must be host:port, several separated by commas',
    })
    .optional(),
  KAFKA_SSL: flag,
  KAFKA_SSL_CA_FILE: z.string().optional(),
  KAFKA_SSL_CERT_FILE: z.string().optional(),
  KAFKA_SSL_KEY_FILE: z.string().optional(),
  KAFKA_SASL_MECHANISM: z
    .enum(['plain', 'scram-sha-256', 'scram-sha-512'], {
      error: 'must be plain, scram-sha-256 or scram-sha-512',
    })
    .optional(),
  KAFKA_SASL_USERNAME: secret,
  KAFKA_SASL_PASSWORD: secret,
  KAFKA_TOPIC_PREFIX: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{1,100}$/, 'must have 1 to 100 letters, digits, dots, dashes')
    .default(''),
  KAFKA_REPLICAS: copies,
  KAFKA_MIN_INSYNC_REPLICAS: copies,
  KAFKA_COMPRESSION: z.enum(['gzip', 'none'], { error: 'must be gzip or none' }).optional(),
};

/** Standard variables of OpenTelemetry. Its SDK also reads others, such as OTEL_EXPORTER_OTLP_HEADERS. */
const tracingVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(['http/protobuf', 'http/json'], { error: 'must be http/protobuf or http/json' })
    .default('http/protobuf'),
  OTEL_TRACES_SAMPLER: z
    .enum(samplers, { error: `must be one of ${samplers.join(', ')}` })
    .optional(),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(?:0(?:\.\d+)?|1(?:\.0+)?)$/, 'must be a number from 0 to 1')
    .optional(),
};

const redirect = httpUrl
  .regex(destinationPattern, 'must have no @ before its path and no backslash before its query')
  .optional();

/** Comma-separated hosts with an optional port. */
const dnsServers = hostList.transform((urls): readonly DnsServer[] =>
  urls.map((text) => {
    const { hostname, port: given } = new URL(text);
    return { host: hostname.replace(/^\[|\]$/g, ''), port: given === '' ? 53 : Number(given) };
  }),
);

export const variables = z.object({
  HOST: bindAddress.default('127.0.0.1'),
  API_HOST: bindAddress.optional(),
  EDGE_HOST: bindAddress.optional(),
  ADMIN_HOST: bindAddress.default('127.0.0.1'),
  ADMIN_HOSTS: hostList.default([]),
  API_PORT: port.default(8080),
  EDGE_PORT: port.default(8081),
  EDGE_LANE: flagOr('1'),
  EDGE_PROCESSES: upTo99.default(1),
  EDGE_CACHE_MB: numberFrom(1, 4_096, 'number of MiB').default(48),
  ADMIN_PORT: port.default(8082),
  SHORT_URL_HOST: origin.optional(),
  OWN_HOSTS: hostList.default([]),
  DESTINATION_SCHEMES: schemeList.default([]),
  CODE_LENGTH: numberFrom(4, 32, 'number').default(8),
  CODES_CASE: z
    .enum(['sensitive', 'insensitive'], { error: 'must be sensitive or insensitive' })
    .default('sensitive'),
  UPGRADE_URL: httpUrl.optional(),
  ADMIN_TOKEN: bearerSecret.optional(),
  METRICS_TOKEN: bearerSecret.optional(),
  DRAIN_DELAY_MS: numberFrom(0, 60_000, 'number of milliseconds').default(0),
  DATA_DIR: z.string().default('.data'),
  DATABASE_URL: z.string().optional(),
  PGSSLMODE: z.enum(sslModes, { error: `must be one of ${sslModes.join(', ')}` }).optional(),
  FIRST_KEY: z.enum(['print', 'none'], { error: 'must be print or none' }).default('print'),
  CONSOLE: flagOr('1'),
  MCP: flagOr('1'),
  CORS_ORIGINS: origins.default([]),
  PLANS_FILE: z.string().optional(),
  TRUSTED_PROXIES: addressBlocks.transform(trustIn).optional(),
  BLOCKLIST_FILE: z.string().optional(),
  GEOIP_FILE: z.string().optional(),
  SAFE_BROWSING_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]{1,256}$/, 'must be 1 to 256 visible ASCII characters')
    .optional(),
  SAFE_BROWSING_URL: httpUrlWithoutSlash.optional(),
  SEAL_KEY_FILE: z.string().optional(),
  ROOT_REDIRECT: redirect,
  NOT_FOUND_REDIRECT: redirect,
  EXPIRED_REDIRECT: redirect,
  DNS_SERVERS: dnsServers.default([]),
  BACKUP_DIR: z.string().optional(),
  BACKUP_EVERY: interval.default(24 * 3_600_000),
  BACKUP_KEEP: numberFrom(1, 9_999, 'number').default(14),
  WEBHOOKS: flagOr('1'),
  WEBHOOK_NETWORKS: addressBlocks.optional(),
  IMPORT_MAX_BYTES: byteCount(1, 'must be at least 1').default(67_108_864),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      error: 'must be one of trace, debug, info, warn, error, fatal, silent',
    })
    .default('info'),
  SPOOL_DIR: z.string().optional(),
  SPOOL_MAX_BYTES: byteCount(1_048_576, 'must be at least 1048576 (1 MiB)').default(1_073_741_824),
  SPOOL_FSYNC: flag,
  ...kafkaVariables,
  REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: 'must be a redis:// or rediss:// URL' })
    .optional(),
  EVENTSTORE_URL: eventStoreUrl.optional(),
  ...tracingVariables,
  ...peopleVariables,
});

type Variables = z.infer<typeof variables>;

/** Reads the PEM file that a variable names. */
interface ReadPem {
  readonly certificate: (variable: string, file: string) => string;
  readonly key: (variable: string, file: string) => string;
}

const tlsSettings = (vars: Variables, readPem: ReadPem): KafkaTls => {
  const { KAFKA_SSL_CA_FILE: ca, KAFKA_SSL_CERT_FILE: cert, KAFKA_SSL_KEY_FILE: key } = vars;
  return Object.freeze({
    ca: ca === undefined ? null : readPem.certificate('KAFKA_SSL_CA_FILE', ca),
    client:
      cert === undefined || key === undefined
        ? null
        : Object.freeze({
            cert: readPem.certificate('KAFKA_SSL_CERT_FILE', cert),
            key: readPem.key('KAFKA_SSL_KEY_FILE', key),
          }),
  });
};

const saslSettings = (vars: Variables): KafkaSettings['sasl'] =>
  vars.KAFKA_SASL_MECHANISM === undefined
    ? null
    : Object.freeze({
        mechanism: vars.KAFKA_SASL_MECHANISM,
        username: vars.KAFKA_SASL_USERNAME ?? '',
        password: vars.KAFKA_SASL_PASSWORD ?? '',
      });

/** Returns `null` for an embedded log. Frozen, because all threads and clients share the settings. */
export const kafkaSettings = (vars: Variables, readPem: ReadPem): KafkaSettings | null => {
  if (vars.KAFKA_BROKERS === undefined) return null;
  return Object.freeze({
    brokers: Object.freeze(vars.KAFKA_BROKERS),
    ssl: vars.KAFKA_SSL && tlsSettings(vars, readPem),
    sasl: saslSettings(vars),
    prefix: vars.KAFKA_TOPIC_PREFIX,
    replicas: vars.KAFKA_REPLICAS ?? null,
    minInsyncReplicas: vars.KAFKA_MIN_INSYNC_REPLICAS ?? null,
    compression: vars.KAFKA_COMPRESSION ?? 'gzip',
  });
};
