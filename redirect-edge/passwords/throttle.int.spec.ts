import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { testDatabase, type TestDatabase } from '../../ops/test/support/database.js';
import {
  ClientHash,
  forgetTries,
  type TryAdmission,
  Throttle,
  type ThrottledClient,
} from './throttle.js';

describe('redirect edge: throttle of passwords', () => {
  let database: TestDatabase;
  before(async () => {
    database = await testDatabase('throttle');
  });
  after(() => database.drop());

  /** A node: what it has in memory is its own. */
  const node = (): Throttle => new Throttle(database.pool);
  const visitor = (code = 'spring'): ThrottledClient => ({ code, hash: randomBytes(16) });

  const guess = async (throttle: Throttle, at: ThrottledClient): Promise<TryAdmission> => {
    const admission = await throttle.admit(at);
    if (admission.type === 'check') await throttle.settle(at, 'wrong');
    return admission;
  };

  const passed = (admissions: readonly TryAdmission[]): number =>
    admissions.filter(({ type }) => type === 'check').length;

  /** Makes everything known of a visitor so much older. */
  const age = async ({ code, hash }: ThrottledClient, seconds: number): Promise<void> => {
    await database.pool.query(
      `UPDATE ledger.password_tries
       SET wrong_at = ARRAY(SELECT at - $3 * interval '1 second' FROM unnest(wrong_at) AS at),
           checking_until = checking_until - $3 * interval '1 second',
           touched_at = touched_at - $3 * interval '1 second'
       WHERE code = $1 AND client = $2`,
      [code, hash, seconds],
    );
  };

  const expectWait = (admission: TryAdmission, seconds: number): void => {
    if (admission.type !== 'throttled') throw new Error('It was let through');
    expect(admission.waitMs).to.be.within((seconds - 5) * 1_000, seconds * 1_000);
  };

  it('lets exactly five wrong tries pass on two nodes that race', async () => {
    for (let round = 0; round < 5; round += 1) {
      const at = visitor();
      const nodes = [node(), node()];
      const admissions = await Promise.all(
        Array.from({ length: 40 }, (_, index) => guess(nodes[index % 2] ?? node(), at)),
      );
      expect(passed(admissions)).to.equal(5);
      expectWait(admissions.find(({ type }) => type === 'throttled') ?? { type: 'check' }, 60);
    }
  });

  it('counts no right password, however many come at once', async () => {
    const at = visitor();
    const nodes = [node(), node()];
    const enter = async (throttle: Throttle): Promise<TryAdmission> => {
      const admission = await throttle.admit(at);
      await throttle.settle(at, 'right');
      return admission;
    };
    const admissions = await Promise.all(
      Array.from({ length: 30 }, (_, index) => enter(nodes[index % 2] ?? node())),
    );
    expect(passed(admissions)).to.equal(30);
  });

  it('throttles for a minute at most after the end of a clock that was hours ahead', async () => {
    const at = visitor();
    for (let tries = 0; tries < 5; tries += 1) await guess(node(), at);
    await age(at, -7_200);
    expectWait(await guess(node(), at), 60);
    await age(at, 30);
    expectWait(await guess(node(), at), 30);
    await age(at, 31);
    expect((await guess(node(), at)).type).to.equal('check');
  });

  it('gives up checks of a dead process in 15 s after the end of such a clock', async () => {
    const at = visitor();
    for (let tries = 0; tries < 5; tries += 1) await node().admit(at);
    await age(at, -7_200);
    const waiting = node().admit(at);
    expect(await waiting.catch((error: unknown) => error)).to.be.instanceOf(Error);
    await age(at, 16);
    expect((await node().admit(at)).type).to.equal('throttled');
  });

  it('affects neither another link nor another client', async () => {
    const at = visitor();
    const throttle = node();
    for (let tries = 0; tries < 5; tries += 1) await guess(throttle, at);
    expectWait(await guess(throttle, at), 60);
    expect((await guess(throttle, { ...at, code: 'autumn' })).type).to.equal('check');
    expect((await guess(throttle, visitor())).type).to.equal('check');
  });

  it('lets a try pass when one leaves the minute, never more than that', async () => {
    const at = visitor();
    // Wrong tries 40, 30, 20, 10 and 0 seconds ago.
    for (let tries = 0; tries < 5; tries += 1) {
      await age(at, 10);
      await guess(node(), at);
    }
    for (const wait of [20, 10, 10, 10, 10, 20]) {
      expectWait(await guess(node(), at), wait);
      await age(at, wait - 5);
      expectWait(await guess(node(), at), 5);
      await age(at, 5);
      const nodes = [node(), node()];
      const admissions = await Promise.all(
        Array.from({ length: 10 }, (_, index) => guess(nodes[index % 2] ?? node(), at)),
      );
      expect(passed(admissions), `after ${wait} s`).to.equal(1);
    }
  });

  it('never lets six wrong tries into a minute, whenever they come', async () => {
    const at = visitor();
    const wrongAt: number[] = [];
    // Primes: the waits and the tries fall together in every way.
    for (let seconds = 0; seconds < 600; seconds += 7) {
      const admissions = await Promise.all([guess(node(), at), guess(node(), at)]);
      wrongAt.push(...Array.from({ length: passed(admissions) }, () => seconds));
      await age(at, 7);
    }
    for (const from of wrongAt) {
      const minute = wrongAt.filter((tried) => tried >= from && tried < from + 60);
      expect(minute.length, `from ${from} s on`).to.be.at.most(5);
    }
    expect(wrongAt.length, 'and no fewer than it may').to.be.at.least(45);
  });

  it('does not count up slow tries: a sixth is free when the first is a minute old', async () => {
    const at = visitor();
    for (let tries = 0; tries < 20; tries += 1) {
      expect((await guess(node(), at)).type).to.equal('check');
      await age(at, 12);
    }
  });

  it('forgets after a minute', async () => {
    const at = visitor();
    for (let tries = 0; tries < 5; tries += 1) await guess(node(), at);
    await age(at, 60);
    const admissions = [];
    for (let tries = 0; tries < 6; tries += 1) admissions.push(await guess(node(), at));
    expect(passed(admissions)).to.equal(5);
  });

  it('counts checks that died with their process as wrong tries', async () => {
    const at = visitor();
    const dead = node();
    for (let tries = 0; tries < 5; tries += 1) await dead.admit(at);
    await age(at, 15);
    expectWait(await guess(node(), at), 60);
  });

  it('does not count a try that was not checked', async () => {
    const at = visitor();
    const throttle = node();
    for (let tries = 0; tries < 20; tries += 1) {
      expect((await throttle.admit(at)).type).to.equal('check');
      await throttle.settle(at, 'unchecked');
    }
  });

  it('deletes its rows after two minutes', async () => {
    await database.pool.query('DELETE FROM ledger.password_tries');
    const [old, recent] = [visitor(), visitor()];
    await guess(node(), old);
    await guess(node(), recent);
    await age(old, 121);
    expect(await forgetTries(database.pool)).to.equal(1);
    const { rows } = await database.pool.query('SELECT client FROM ledger.password_tries');
    expect(rows).to.deep.equal([{ client: recent.hash }]);
  });

  it('knows clients by a hash that is the same on all nodes and another for each link', async () => {
    const [one, other] = [new ClientHash(database.pool), new ClientHash(database.pool)];
    const hash = await one.of('spring', '198.51.100.7');
    expect(await other.of('spring', '198.51.100.7')).to.deep.equal(hash);
    expect(await one.of('autumn', '198.51.100.7')).not.to.deep.equal(hash);
    expect(await one.of('spring', '198.51.100.8')).not.to.deep.equal(hash);
    expect(hash.byteLength).to.equal(16);
  });
});
