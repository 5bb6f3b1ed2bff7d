import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Paths of the PEM files of a certificate and its key. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority in a folder; `openssl` creates all keys. */
export const createAuthority = async (dir: string, name: string) => {
  const openssl = (...args: string[]): Promise<unknown> => run('openssl', args, { cwd: dir });
  const pair = (owner: string): KeyPair => ({
    cert: path.join(dir, `${owner}.pem`),
    key: path.join(dir, `${owner}.key.pem`),
  });
  const ca = pair(name);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await openssl(
    ...['req', '-x509', ...newKey, '-days', '2', '-subj', `/CN=${name}`],
    ...['-keyout', ca.key, '-out', ca.cert],
  );
  return {
    ca: ca.cert,
    async issue(owner: string, extensions: readonly string[] = []): Promise<KeyPair> {
      const issued = pair(owner);
      const request = path.join(dir, `${owner}.csr`);
      await openssl(
        ...['req', ...newKey, '-subj', `/CN=${owner}`, '-keyout', issued.key, '-out', request],
        ...extensions.flatMap((extension) => ['-addext', extension]),
      );
      await openssl(
        ...['x509', '-req', '-in', request, '-CA', ca.cert, '-CAkey', ca.key, '-days', '2'],
        ...['-CAcreateserial', '-copy_extensions', 'copy', '-out', issued.cert],
      );
      return issued;
    },
  };
};
