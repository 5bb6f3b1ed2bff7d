import { expect } from 'chai';
import { runLinklogCli } from '../../test/support/command-line.js';
import { databaseFixture } from '../../test/support/fixtures.js';
import { startLinklogCli } from '../../test/support/process.js';

describe('linklog sql', () => {
  const database = databaseFixture('sql');
  const env = () => ({ DATABASE_URL: database.url });
  const sql = (...args: readonly string[]) => runLinklogCli(['sql', ...args], env());

  before(() =>
    database.pool.query('CREATE TABLE kept (name text); INSERT INTO kept VALUES (NULL)'),
  );

  it('prints a table, or JSON, and says how many rows there are', async () => {
    const statement = `SELECT 'a' || chr(10) AS text, 2 AS number, name FROM kept;`;
    expect((await sql(statement)).stdout).to.equal(
      ['text     number  name', 'a\\u000a       2', '(1 row)', ''].join('\n'),
    );
    expect(JSON.parse((await sql('--json', statement)).stdout)).to.deep.equal({
      rows: [{ text: 'a\n', number: 2, name: null }],
    });
    const { stdout } = await sql('SELECT generate_series(1, 100000)');
    expect(stdout.split('\n')).to.have.length(1_003);
    expect(stdout).to.match(/\(the first 1,000 rows\)\n$/);
    const wide = await sql("SELECT repeat('x', 1000000) FROM generate_series(1, 1000)");
    expect(wide.stdout).to.match(/\(the first 50 rows\)\n$/);
  });

  const refused = {
    'DELETE FROM kept': /syntax error/,
    'WITH d AS (DELETE FROM kept RETURNING 1) SELECT * FROM d': /must not contain data-modifying/,
    'SELECT 1; COMMIT; DELETE FROM kept': /multiple commands/,
    'SELECT 1) TO STDOUT; --': /syntax error/,
    "SELECT set_config('transaction_read_only', 'off', false)": /must be set before any query/,
    "SELECT lo_from_bytea(0, 'x')": /read-only transaction/,
    '': /syntax error/,
  };
  for (const [statement, reason] of Object.entries(refused)) {
    it(`refuses ${JSON.stringify(statement)}, and changes nothing`, async () => {
      const { exitCode, stdout, stderr } = await sql(statement);
      expect([exitCode, stdout]).to.deep.equal([1, '']);
      expect(stderr).to.match(reason);
      const { rowCount } = await database.pool.query('SELECT FROM kept');
      expect(rowCount).to.equal(1);
    });
  }

  it('reads statements from stdin up to the first that fails', async () => {
    const input = 'SELECT 1\n  AS a;\n;\nSELECT 2 AS b; \nSELECT x;\nSELECT 3 AS c';
    const { exitCode, stdout, stderr } = await startLinklogCli(['sql'], env(), undefined, input)
      .ended;
    expect([exitCode, stdout]).to.deep.equal([1, 'a\n1\n(1 row)\nb\n2\n(1 row)\n']);
    expect(stderr).to.match(/column "x" does not exist/);
  });
});
