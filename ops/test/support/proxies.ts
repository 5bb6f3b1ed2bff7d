/** nginx and Caddy with the configuration of a document, on free ports of 127.0.0.1. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { inheritedEnvironment } from '../../config/config.js';
import { freePort } from '../../local/process/server.js';
import { hasCode } from '../../platform/errors.js';
import { sendRequest } from './http.js';
import { temporaryDir } from './process.js';
import { eventually } from './waiting.js';

/** The addresses of the listeners that a proxy is in front of. */
type Upstreams = Readonly<Record<'edge' | 'api' | 'admin', string>>;

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The client's address: any of 127.0.0.0/8. */
  readonly from?: string;
}

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Replaces the addresses of the listeners in the documents. */
const withUpstreams = (configuration: string, upstreams: Upstreams): string =>
  configuration
    .replaceAll('127.0.0.1:8080', new URL(upstreams.api).host)
    .replaceAll('127.0.0.1:8081', new URL(upstreams.edge).host)
    .replaceAll('127.0.0.1:8082', new URL(upstreams.admin).host);

/** Waits until a proxy that was just started listens. */
const untilListening = async (child: ChildProcess, http: string): Promise<void> => {
  const output = child.stderr === null ? Promise.resolve('') : text(child.stderr);
  await eventually('the proxy listens', async () => {
    if (child.exitCode !== null) throw new Error(`the proxy ended: ${await output}`);
    return sendRequest(http, { headers: { Host: 'go.example.com' } }).then(
      () => true,
      (error: unknown) => {
        if (hasCode(error, 'ECONNREFUSED')) return false;
        throw error;
      },
    );
  });
};

const proxyAt = (child: ChildProcess, dir: string, ports: { http: number; https: number }) => {
  const ended = once(child, 'close');
  return {
    dir,
    http: `http://127.0.0.1:${ports.http}`,
    httpsPort: ports.https,
    async stop(): Promise<void> {
      child.kill();
      await ended;
      await rm(dir, { recursive: true });
    },
  };
};

/** Sends requests over https and verifies the certificate. */
const clientOf =
  (port: number, ca: Buffer) =>
  async (host: string, target: string, sent: Sent = {}): Promise<Received> => {
    const { method, headers, body, from } = sent;
    const outgoing = request({
      ...{ host: '127.0.0.1', port, path: target, servername: host, ca },
      ...{ method, headers: { Host: host, ...headers }, localAddress: from },
      agent: false,
    });
    outgoing.end(body);
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const { statusCode: status = 0 } = response;
    return { status, headers: response.headers, body: await text(response) };
  };

/** The programs that `startNginx` runs. */
export const nginxPrograms = ['nginx', 'openssl'];

/** Starts nginx with one certificate for all hosts. */
export const startNginx = async (
  configuration: string,
  hosts: readonly string[],
  upstreams: Upstreams,
) => {
  const dir = await temporaryDir();
  const ports = { http: await freePort(), https: await freePort() };
  const [certificate, key] = [path.join(dir, 'certificate.pem'), path.join(dir, 'key.pem')];
  const names = hosts.map((host) => `DNS:${host}`);
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
    ...['-days', '1', '-subj', '/CN=linklog', '-addext', `subjectAltName=${names.join(',')}`],
    ...['-keyout', key, '-out', certificate],
  ]);
  const webRoot = path.join(dir, 'acme');
  const site = withUpstreams(configuration, upstreams)
    .replace(/^ *listen \[::\]:.*\n/gm, '')
    .replaceAll('listen 80', `listen 127.0.0.1:${ports.http}`)
    .replaceAll('listen 443', `listen 127.0.0.1:${ports.https}`)
    .replaceAll(/(?<=ssl_certificate ).*(?=;)/g, certificate)
    .replaceAll(/(?<=ssl_certificate_key ).*(?=;)/g, key)
    .replaceAll('/var/www/acme', webRoot);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const paths = temporary.map((name) => `${name}_temp_path ${path.join(dir, name)};`);
  // Its workers read the folder, which only the user of the tests can.
  const user = process.getuid?.() === 0 ? 'user root;\n' : '';
  await writeFile(
    path.join(dir, 'nginx.conf'),
    `${user}daemon off;\npid ${path.join(dir, 'pid')};\nevents {}\n` +
      `http {\naccess_log off;\n${paths.join('\n')}\n${site}}\n`,
  );
  const child = spawn('nginx', ['-p', dir, '-c', 'nginx.conf', '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const proxy = proxyAt(child, dir, ports);
  await untilListening(child, proxy.http);
  const get = clientOf(ports.https, await readFile(certificate));
  return { ...proxy, certificate, webRoot, get };
};

/** Starts Caddy with a certificate authority of its own. */
export const startCaddy = async (configuration: string, upstreams: Upstreams) => {
  const dir = await temporaryDir();
  const ports = { http: await freePort(), https: await freePort() };
  const local = [
    ...['admin off', 'local_certs', 'skip_install_trust', 'default_bind 127.0.0.1'],
    ...[`http_port ${ports.http}`, `https_port ${ports.https}`, `storage file_system ${dir}`],
  ];
  const site = withUpstreams(configuration, upstreams).replace('{\n', `{\n${local.join('\n')}\n`);
  const file = path.join(dir, 'Caddyfile');
  await writeFile(file, site);
  const child = spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], {
    env: { ...inheritedEnvironment(), HOME: dir, XDG_CONFIG_HOME: dir, XDG_DATA_HOME: dir },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const proxy = proxyAt(child, dir, ports);
  await untilListening(child, proxy.http);
  const caFile = path.join(dir, 'pki', 'authorities', 'local', 'root.crt');
  return { ...proxy, caFile, get: clientOf(ports.https, await readFile(caFile)) };
};
