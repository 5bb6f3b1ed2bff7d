import { expect } from 'chai';
import { createConsoleSessions, deleteExpiredSessions, newToken } from './console-sessions.js';
import { fixture } from '../../../ops/test/support/fixture.js';
import { databaseFixture } from '../../../ops/test/support/fixtures.js';

const secret = (byte: number): Buffer => Buffer.alloc(32, byte);
const developer = { boundTo: secret(1), actor: null, browser: null };
const stored = { boundTo: secret(1), actor: null, personId: null };

describe('command API: sessions of the console', () => {
  const database = databaseFixture('console');
  const sessions = fixture(() => createConsoleSessions(database.pool, 'api'));

  beforeEach(() => database.pool.query('DELETE FROM ledger.console_sessions'));

  const age = (column: 'began_at' | 'used_at', by: string): Promise<unknown> =>
    database.pool.query(
      `UPDATE ledger.console_sessions SET ${column} = clock_timestamp() - $1::interval`,
      [by],
    );

  const usedSecondsAgo = async (): Promise<number> => {
    const { rows } = await database.pool.query<{ ago: string }>(
      `SELECT extract(epoch FROM clock_timestamp() - used_at) AS ago FROM ledger.console_sessions`,
    );
    return Number(rows[0]?.ago);
  };

  it('are found by their unique token, which is stored as a hash', async () => {
    const tokens = [await sessions.start(database.pool, developer)];
    tokens.push(await sessions.start(database.pool, { ...developer, boundTo: secret(2) }));
    expect(await sessions.find(tokens[0] ?? '')).to.deep.equal(stored);
    expect((await sessions.find(tokens[1] ?? ''))?.boundTo).to.deep.equal(secret(2));
    for (const token of ['', 'x', newToken()]) expect(await sessions.find(token)).to.equal(null);
    const { rows } = await database.pool.query<{ row: string }>(
      'SELECT s::text AS row FROM ledger.console_sessions s',
    );
    for (const token of tokens) {
      const raw = Buffer.from(token, 'base64url').toString('hex');
      for (const { row } of rows) expect(row).not.to.include(token).and.not.to.include(raw);
    }
  });

  it('belong to one listener, and end when the user signs out', async () => {
    const operators = createConsoleSessions(database.pool, 'admin');
    const operator = { boundTo: secret(1), actor: 'maria', browser: null };
    const token = await operators.start(database.pool, operator);
    expect(await sessions.find(token)).to.equal(null);
    await sessions.end(token);
    expect(await operators.find(token)).to.deep.equal({ ...stored, actor: 'maria' });
    const other = await operators.start(database.pool, operator);
    await operators.end(token);
    expect(await operators.find(token)).to.equal(null);
    expect(await operators.find(other)).not.to.equal(null);
  });

  it('start concurrently; beyond 100 of a secret, the least recently used ones end', async () => {
    const start = (boundTo = secret(1)) => sessions.start(database.pool, { ...developer, boundTo });
    const [first, second, other] = [await start(), await start(), await start(secret(2))];
    for (let more = 2; more < 101; more += 1) await start();
    expect(await sessions.find(first)).to.equal(null);
    expect(await sessions.find(second)).to.deep.equal(stored);
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(Array.from({ length: 30 }, () => start()));
    }
    const last = await start();
    const { rows } = await database.pool.query('SELECT FROM ledger.console_sessions');
    expect(rows).to.have.length(101);
    expect(await sessions.find(last)).to.deep.equal(stored);
    expect(await sessions.find(other)).not.to.equal(null);
  });

  for (const [column, last, over] of [
    ['used_at', '11 hours 59 minutes', '12 hours 1 second'],
    ['began_at', '6 days 23 hours', '7 days 1 second'],
  ] as const) {
    it(`expire by ${column}, and are deleted`, async () => {
      const token = await sessions.start(database.pool, developer);
      await age(column, last);
      expect(await sessions.find(token)).to.deep.equal(stored);
      expect(await deleteExpiredSessions(database.pool)).to.equal(0);
      await age(column, over);
      expect(await sessions.find(token)).to.equal(null);
      expect(await deleteExpiredSessions(database.pool)).to.equal(1);
    });
  }

  it('record their use once a minute', async () => {
    const token = await sessions.start(database.pool, developer);
    await age('used_at', '50 seconds');
    await sessions.find(token);
    expect(await usedSecondsAgo()).to.be.above(49);
    await age('used_at', '70 seconds');
    await sessions.find(token);
    expect(await usedSecondsAgo()).to.be.below(49);
  });
});
