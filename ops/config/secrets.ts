/** Secrets in files: `<NAME>_FILE` names the file with the value of the variable `<NAME>`. */
import { readFileSync } from 'node:fs';
import { ConfigError } from '../platform/errors.js';

export const secretVariables = [
  'ADMIN_TOKEN',
  'DATABASE_URL',
  'EVENTSTORE_URL',
  'KAFKA_SASL_PASSWORD',
  'METRICS_TOKEN',
  'OIDC_CLIENT_SECRET',
  'REDIS_URL',
  'SAFE_BROWSING_API_KEY',
] as const;

/** One line end is not part of the value: editors and `echo` append it. */
const readSecret = (variable: string, file: string): string => {
  let value: string;
  try {
    value = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (cause) {
    throw new ConfigError(`${variable} cannot be read: ${(cause as Error).message}`, { cause });
  }
  if (value === '') throw new ConfigError(`${variable}: ${file} is empty`);
  return value;
};

/**
 * Returns the environment with the secrets of files as the values of their variables, and without the names of these
 * files. An empty variable counts as unset.
 *
 * @throws ConfigError if a file cannot be read or is empty, or if a secret has a value and a file
 */
export const withSecretsOfFiles = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const secrets = secretVariables.flatMap((name) => {
    const fileVariable = `${name}_FILE`;
    const file = env[fileVariable] ?? '';
    if (file === '') return [];
    if ((env[name] ?? '') !== '') throw new ConfigError(`${name} and ${fileVariable} are both set`);
    return [{ name, fileVariable, value: readSecret(fileVariable, file) }];
  });
  const read = new Set(secrets.map(({ fileVariable }) => fileVariable));
  const others = Object.entries(env).filter(([name]) => !read.has(name));
  return Object.fromEntries([
    ...others,
    ...secrets.map(({ name, value }) => [name, value] as const),
  ]);
};
