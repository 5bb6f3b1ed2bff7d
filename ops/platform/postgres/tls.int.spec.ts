import { expect } from 'chai';
import { createAuthority } from '../../test/support/certificates.js';
import { fixture } from '../../test/support/fixture.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { startPostgresServer, type PostgresServer } from '../../test/support/postgres-server.js';
import { createLogger } from '../logging.js';
import { createPool } from './pool.js';
import { needs } from '../../test/support/needs.js';

const logger = createLogger('silent');

/** The users of pg_hba.conf: which connections each may make. */
const hba = [
  'host all linklog 127.0.0.1/32 scram-sha-256',
  'host all either 127.0.0.1/32 trust',
  'hostssl all only_tls 127.0.0.1/32 trust',
  'hostnossl all only_plain 127.0.0.1/32 trust',
  'hostssl all certified 127.0.0.1/32 cert',
];
const users = ['either', 'only_tls', 'only_plain', 'certified'];

describe('PostgreSQL: sslmode', () => {
  needs('openssl');
  const dir = folderFixture();
  const authority = fixture(() => createAuthority(dir.path, 'authority'));
  const foreign = fixture(() => createAuthority(dir.path, 'foreign'));
  // Valid for the name only, not for 127.0.0.1.
  const certificate = fixture(() => authority.issue('server', ['subjectAltName=DNS:localhost']));
  const client = fixture(() => authority.issue('certified'));

  const start = async (options: Parameters<typeof startPostgresServer>[0]) => {
    const server = await startPostgresServer(options);
    for (const user of users) await server.query(`CREATE ROLE ${user} LOGIN`);
    return server;
  };
  const stop = (server: PostgresServer): Promise<void> => server.stop();
  const secured = fixture(() => start({ hba, tls: { ...certificate, ca: authority.ca } }), stop);
  const plain = fixture(() => start({ hba }), stop);

  /** `tls` or `plain`, or the message of the error. */
  const outcomeOf = async (
    server: PostgresServer,
    user: string,
    query: string,
    host = '127.0.0.1',
  ): Promise<string> => {
    const parameters = query
      .replaceAll('{ca}', authority.ca)
      .replaceAll('{foreign}', foreign.ca)
      .replaceAll('{cert}', client.cert)
      .replaceAll('{key}', client.key);
    const url = `postgres://${user}@${host}:${server.port}/postgres?${parameters}`;
    const pool = createPool({ url, name: 'tls', max: 1, logger });
    try {
      const { rows } = await pool.query<{ ssl: boolean }>(
        'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
      );
      return rows[0]?.ssl === true ? 'tls' : 'plain';
    } catch (error) {
      return (error as Error).message;
    } finally {
      await pool.end();
    }
  };

  const noTls = 'TLS failed: The server does not support SSL connections';
  /** The outcomes of a mode with the server that offers TLS, and with the server that does not. */
  const modes: readonly (readonly [string, string | RegExp, string | RegExp])[] = [
    ['', 'tls', 'plain'],
    ['sslmode=disable', 'plain', 'plain'],
    ['sslmode=allow', 'plain', 'plain'],
    ['sslmode=prefer', 'tls', 'plain'],
    ['sslmode=require', 'tls', noTls],
    ['sslmode=require&sslrootcert={ca}', 'tls', noTls],
    ['sslmode=require&sslrootcert={foreign}', /^TLS failed: .*certificate/, noTls],
    ['sslmode=verify-ca&sslrootcert={ca}', 'tls', noTls],
    ['sslmode=verify-ca&sslrootcert={foreign}', /^TLS failed: .*certificate/, noTls],
    ['sslmode=verify-full', /^TLS failed: .*certificate/, noTls],
    ['sslrootcert=system', /^TLS failed: .*certificate/, noTls],
    [
      'sslmode=verify-full&sslrootcert={ca}',
      /^TLS failed: .*IP: 127\.0\.0\.1 is not in the cert's list/,
      noTls,
    ],
    ['sslmode=verify-full&sslrootcert={foreign}', /^TLS failed: .*certificate/, noTls],
  ];
  for (const [query, withTls, withoutTls] of modes) {
    it(`does as the manual of libpq says: ${query === '' ? 'no sslmode' : query}`, async () => {
      expect(await outcomeOf(secured, 'either', query)).to.match(new RegExp(withTls));
      expect(await outcomeOf(plain, 'either', query)).to.match(new RegExp(withoutTls));
    });
  }

  it('verifies the host name with verify-full', async () => {
    const query = 'sslmode=verify-full&sslrootcert={ca}';
    expect(await outcomeOf(secured, 'either', query, 'localhost')).to.equal('tls');
  });

  const refused = /^no pg_hba\.conf entry .*encryption/;
  for (const [query, onlyTls, onlyPlain] of [
    ['sslmode=disable', refused, 'plain'],
    ['sslmode=allow', 'tls', 'plain'],
    ['sslmode=prefer', 'tls', 'plain'],
    ['sslmode=require', 'tls', refused],
  ] as const) {
    it(`meets pg_hba.conf as the manual of libpq says: ${query}`, async () => {
      expect(await outcomeOf(secured, 'only_tls', query)).to.match(new RegExp(onlyTls));
      expect(await outcomeOf(secured, 'only_plain', query)).to.match(new RegExp(onlyPlain));
    });
  }

  it('sends the client certificate of sslcert and sslkey', async () => {
    const query = 'sslmode=verify-ca&sslrootcert={ca}';
    expect(await outcomeOf(secured, 'certified', query)).to.match(/client certificate/);
    const certified = `${query}&sslcert={cert}&sslkey={key}`;
    expect(await outcomeOf(secured, 'certified', certified)).to.equal('tls');
  });

  it('starts with TLS immediately with sslnegotiation=direct', async () => {
    const query = 'sslmode=require&sslnegotiation=direct';
    expect(await outcomeOf(secured, 'either', query)).to.equal('tls');
  });

  it('reports a wrong password, whether the server requires TLS or not', async () => {
    for (const query of ['sslmode=allow', 'sslmode=prefer', 'sslmode=require', 'sslmode=disable']) {
      const outcome = await outcomeOf(secured, 'linklog:wrong', query);
      expect(outcome, query).to.equal('password authentication failed for user "linklog"');
    }
  });
});
