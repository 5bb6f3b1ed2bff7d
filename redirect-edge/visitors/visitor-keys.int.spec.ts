import { expect } from 'chai';
import { rejection } from '../../ops/test/support/waiting.js';
import { keyLifeMs, VisitorKeys } from './visitor-keys.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

const hour = 3_600_000;
const day = 24 * hour;

describe('redirect edge: keys of the visitors’ hashes', () => {
  const database = databaseFixture('visitor-keys', { per: 'test' });
  /** The start of PostgreSQL's day. */
  let today: number;

  beforeEach(async () => {
    const { rows } = await database.pool.query<{ today: Date }>(
      `SELECT date_trunc('day', now(), 'UTC') AS today`,
    );
    today = rows[0]?.today.getTime() ?? NaN;
  });

  const readKeys = async (now = () => Date.now()): Promise<VisitorKeys> => {
    const keys = new VisitorKeys(database.pool, now);
    await keys.refresh();
    return keys;
  };

  const storedDays = async (): Promise<readonly number[]> => {
    const { rows } = await database.pool.query<{ ahead: number }>(
      `SELECT day - (now() AT TIME ZONE 'UTC')::date AS ahead FROM ledger.visitor_keys ORDER BY 1`,
    );
    return rows.map(({ ahead }) => ahead);
  };

  it('exist once for each day, a day in advance, on all edges', async () => {
    expect(new VisitorKeys(database.pool).of(today)).to.be.null;
    const edges = await Promise.all([readKeys(), readKeys(), readKeys()]);
    const [first] = edges;
    for (const edge of edges) {
      for (const time of [today, today + day - 1, today + day, today + 2 * day - 1]) {
        expect(edge.of(time)).to.match(/^[0-9a-f]{64}$/);
        expect(edge.of(time)).to.equal(first.of(time));
      }
      expect(edge.of(today)).to.equal(edge.of(today + day - 1));
      expect(edge.of(today)).to.not.equal(edge.of(today + day));
      expect(edge.of(today - 1)).to.be.null;
      expect(edge.of(today + 2 * day)).to.be.null;
    }
    expect(await storedDays()).to.deep.equal([0, 1]);
    const before = [first.of(today), first.of(today + day)];
    await first.refresh();
    expect([first.of(today), first.of(today + day)]).to.deep.equal(before);
  });

  it('are deleted within 48 hours of the start of their day, and not much earlier', async () => {
    expect(keyLifeMs).to.be.within(47.9 * hour, 48 * hour);
    await database.pool.query(
      `INSERT INTO ledger.visitor_keys
       SELECT (now() AT TIME ZONE 'UTC')::date - n, '\\x00' FROM generate_series(1, 4) AS n`,
    );
    const keys = await readKeys();
    const remaining = [-4, -3, -2, -1, 0, 1].filter(
      (ahead) => Date.now() < today + ahead * day + keyLifeMs,
    );
    expect(await storedDays()).to.deep.equal(remaining);
    for (const ahead of [-4, -3, -2, -1]) {
      expect(keys.of(today + ahead * day)).to.equal(remaining.includes(ahead) ? '00' : null);
    }
  });

  it('are used until the end of their lifetime without PostgreSQL', async () => {
    let now = Date.now();
    const keys = await readKeys(() => now);
    const known = [keys.of(today), keys.of(today + day)];
    await database.pool.query('ALTER TABLE ledger.visitor_keys RENAME TO renamed');
    for (const [time, remaining] of [
      [now, known],
      [today + 2 * day, [null, known[1]]],
      [today + 3 * day, [null, null]],
    ] as const) {
      now = time;
      await rejection(keys.refresh());
      expect([keys.of(today), keys.of(today + day)]).to.deep.equal(remaining);
    }
  });
});
