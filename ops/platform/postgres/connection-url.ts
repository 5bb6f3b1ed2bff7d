/** Connection URLs as in the manual of libpq: several hosts, TLS, `target_session_attrs`. */
import path from 'node:path';
import { ConfigError } from '../errors.js';

export const sslModes = [
  'disable',
  'allow',
  'prefer',
  'require',
  'verify-ca',
  'verify-full',
] as const;
const sessionKinds = ['any', 'read-write', 'primary'] as const;
const fileParameters = ['sslrootcert', 'sslcert', 'sslkey'] as const;

export type SslMode = (typeof sslModes)[number];

export interface TlsSettings {
  readonly mode: SslMode;
  /** `postgres`: TLS starts after a request in plain text; `direct`: TLS starts with the connection. */
  readonly negotiation: 'postgres' | 'direct';
  /** Absolute paths of PEM files. Without `sslrootcert`, the CAs of Node.js are trusted. */
  readonly files: Readonly<Partial<Record<(typeof fileParameters)[number], string>>>;
}

export interface ConnectionTarget {
  /** A URL for each host, in the order in which they are tried, without the parameters that are parsed here. */
  readonly urls: readonly string[];
  /** `read-write`: not a standby, and `default_transaction_read_only` is off; `primary`: not a standby. */
  readonly session: (typeof sessionKinds)[number];
  readonly tls: TlsSettings;
}

/** The message contains no value of the URL. */
const invalid = (fault: string): ConfigError => new ConfigError(`DATABASE_URL ${fault}`);

const oneOf = <Value extends string>(
  params: URLSearchParams,
  name: string,
  values: readonly [Value, ...Value[]],
  byDefault: Value = values[0],
): Value => {
  const given = params.get(name) ?? byDefault;
  const known = values.find((value) => value === given);
  if (known !== undefined) return known;
  throw invalid(`has a value of ${name} that is none of ${values.join(', ')}`);
};

const parseTls = (params: URLSearchParams, defaultMode: SslMode): TlsSettings => {
  const trustsSystem = params.get('sslrootcert') === 'system';
  const mode = oneOf(params, 'sslmode', sslModes, trustsSystem ? 'verify-full' : defaultMode);
  if (trustsSystem && mode !== 'verify-full') {
    throw invalid('has sslrootcert=system, which requires sslmode=verify-full');
  }
  if (mode === 'verify-ca' && !params.has('sslrootcert')) {
    throw invalid('has sslmode=verify-ca, which requires sslrootcert');
  }
  if (params.has('sslcert') !== params.has('sslkey')) {
    throw invalid('has one of sslcert and sslkey, which require each other');
  }
  const negotiation = oneOf(params, 'sslnegotiation', ['postgres', 'direct']);
  if (negotiation === 'direct' && ['disable', 'allow', 'prefer'].includes(mode)) {
    throw invalid('has sslnegotiation=direct, which requires sslmode=require or stronger');
  }
  const files = fileParameters.flatMap((name) => {
    const file = params.get(name);
    const isFile = file !== null && !(name === 'sslrootcert' && trustsSystem);
    return isFile ? [[name, path.resolve(file)] as const] : [];
  });
  return { mode, negotiation, files: Object.fromEntries(files) };
};

const parsedParameters: readonly string[] = [
  ...['sslmode', 'sslnegotiation', 'target_session_attrs'],
  ...fileParameters,
];

const refuseUnsupported = (params: URLSearchParams): void => {
  for (const name of params.keys()) {
    // libpq has more parameters of TLS. A security setting must not be ignored.
    if (parsedParameters.includes(name) || !/^(?:require)?ssl/.test(name)) continue;
    throw invalid(
      `has the parameter ${name}, which is not supported: use sslmode, sslrootcert, sslcert and sslkey`,
    );
  }
  for (const name of ['host', 'port']) {
    if (params.get(name)?.includes(',') !== true) continue;
    throw invalid(
      `has several hosts in the parameter ${name}: list them before the path, as in postgres://host1,host2/database`,
    );
  }
};

const urlPattern = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)([^?#]*)(?:\?([^#]*))?$/;

/** @throws ConfigError */
const split = (text: string) => {
  const [, start = '', hosts = '', database = '', query = ''] = urlPattern.exec(text) ?? [];
  const names = hosts.split(',');
  const params = new URLSearchParams(query);
  if (names.length > 1 && names.includes('')) throw invalid('has an empty host in its list');
  const withHosts = (hosts: string): string =>
    `${start}${hosts}${database}${params.size === 0 ? '' : `?${params.toString()}`}`;
  try {
    for (const name of names) new URL(withHosts(name));
  } catch {
    // The message of `new URL` may contain the password.
    throw invalid(
      'must be a postgres:// URL; percent-encode the password if it has one of # / ? @, such as %23 for #',
    );
  }
  return { hosts, names, params, withHosts };
};

/** @param defaultMode for a URL without `sslmode` @throws ConfigError */
export const parseConnectionUrl = (
  text: string,
  defaultMode: SslMode = 'prefer',
): ConnectionTarget => {
  const { names, params, withHosts } = split(text);
  refuseUnsupported(params);
  const session = oneOf(params, 'target_session_attrs', sessionKinds);
  const tls = parseTls(params, defaultMode);
  for (const name of parsedParameters) params.delete(name);
  return { session, tls, urls: names.map(withHosts) };
};

/**
 * Returns the URL with the default `sslmode`, and with absolute paths for processes that start in another folder.
 *
 * @throws ConfigError
 */
export const absoluteConnectionUrl = (text: string, defaultMode?: SslMode): string => {
  const { tls } = parseConnectionUrl(text, defaultMode);
  const { hosts, params, withHosts } = split(text);
  const added = { ...(defaultMode !== undefined && { sslmode: tls.mode }), ...tls.files };
  if (Object.keys(added).length === 0) return text;
  for (const [name, value] of Object.entries(added)) params.set(name, value);
  return withHosts(hosts);
};

/** The hosts of a URL, without user and password. */
export const hostsOf = (text: string): string => split(text).hosts;
