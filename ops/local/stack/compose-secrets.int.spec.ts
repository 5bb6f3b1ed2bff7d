import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { parse } from 'yaml';
import { inheritedEnvironment } from '../../config/config.js';
import { projectFile } from '../../platform/files/project-file.js';
import { createComposeSecrets } from '../../test/support/compose-secrets.js';
import { fixture } from '../../test/support/fixture.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { needs } from '../../test/support/needs.js';
import { startPostgresServer } from '../../test/support/postgres-server.js';

const run = promisify(execFile);

describe('local servers: the secrets of docker-compose.yml', function () {
  this.timeout(60_000);
  needs('openssl', 'psql');
  const folder = folderFixture();
  const secretsDir = (): string => path.join(folder.path, 'secrets');
  const secretOf = (name: string): Promise<string> =>
    readFile(path.join(secretsDir(), name), 'utf8');
  const server = fixture(
    () => startPostgresServer(),
    (postgres) => postgres.stop(),
  );

  before(() => createComposeSecrets(folder.path));

  it('are the files that the commands of containers.md create, which only containers of other users read', async () => {
    const compose = await readFile(projectFile('docker-compose.yml'), 'utf8');
    const { secrets } = parse(compose) as { secrets: object };
    expect(await readdir(secretsDir())).to.have.members(Object.keys(secrets));
    expect((await stat(secretsDir())).mode & 0o777).to.equal(0o700);
    // A container gets the file itself, and its user is not the owner.
    for (const name of Object.keys(secrets)) {
      expect((await stat(path.join(secretsDir(), name))).mode & 0o777, name).to.equal(0o644);
    }
    expect(await secretOf('admin-token')).to.match(/^[0-9a-f]{48}\n$/);
  });

  it('are the passwords of the roles in PostgreSQL', async () => {
    for (const file of ['roles.sql', 'role-passwords.sql']) {
      await run(
        'psql',
        [
          ...['--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1', '--dbname', server.url],
          ...['--file', projectFile('ops', 'migrations', file)],
        ],
        { env: { ...inheritedEnvironment(), SECRETS_DIR: secretsDir() } },
      );
    }
    for (const role of ['migrations', 'api', 'edge', 'projectors']) {
      const url = new URL((await secretOf(`${role}-database-url`)).trim());
      expect(url.host).to.equal('postgres:5432');
      const client = new pg.Client({
        ...{ host: '127.0.0.1', port: server.port, database: 'postgres' },
        ...{ user: url.username, password: url.password },
      });
      await client.connect();
      const { rows } = await client.query<{ role: string }>('SELECT current_user AS role');
      await client.end();
      expect(rows).to.deep.equal([{ role: `linklog_${role}` }]);
    }
  });
});
