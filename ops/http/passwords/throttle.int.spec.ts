import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { databaseFixture } from '../../test/support/fixtures.js';
import {
  ClientHash,
  deleteOldAttempts,
  type Admission,
  Throttle,
  type ThrottledClient,
} from './throttle.js';

describe('redirect edge: throttle of passwords', () => {
  const database = databaseFixture('throttle');

  const node = (): Throttle => new Throttle(database.pool);
  const visitor = (subject = 'spring'): ThrottledClient => ({ subject, hash: randomBytes(16) });

  const guess = async (
    at: ThrottledClient,
    throttle = node(),
    verdict: 'wrong' | 'right' = 'wrong',
  ): Promise<Admission> => {
    const admission = await throttle.admit(at);
    if (admission.type === 'check') await throttle.recordVerdict(at, verdict);
    return admission;
  };

  const guessTogether = (at: ThrottledClient, attempts: number, verdict?: 'right') => {
    const nodes = [node(), node()];
    const guesses = Array.from({ length: attempts }, (_, n) => guess(at, nodes[n % 2], verdict));
    return Promise.all(guesses);
  };

  const guessFiveTimes = async (at: ThrottledClient): Promise<void> => {
    for (let attempts = 0; attempts < 5; attempts += 1) await guess(at);
  };

  const passed = (admissions: readonly Admission[]): number =>
    admissions.filter(({ type }) => type === 'check').length;

  /** Moves the recorded times of a visitor to the past. */
  const age = async ({ subject, hash }: ThrottledClient, seconds: number): Promise<void> => {
    await database.pool.query(
      `UPDATE ledger.password_tries
       SET wrong_at = ARRAY(SELECT at - $3 * interval '1 second' FROM unnest(wrong_at) AS at),
           checking_until = checking_until - $3 * interval '1 second',
           touched_at = touched_at - $3 * interval '1 second'
       WHERE subject = $1 AND client = $2`,
      [subject, hash, seconds],
    );
  };

  const expectWait = (admission: Admission, seconds: number): void => {
    if (admission.type !== 'throttled') throw new Error(`the admission is ${admission.type}`);
    expect(admission.waitMs).to.be.within((seconds - 5) * 1_000, seconds * 1_000);
  };

  it('admits exactly five wrong attempts on two concurrent nodes', async () => {
    for (let round = 0; round < 5; round += 1) {
      const admissions = await guessTogether(visitor(), 40);
      expect(passed(admissions)).to.equal(5);
      expectWait(admissions.find(({ type }) => type === 'throttled') ?? { type: 'check' }, 60);
    }
  });

  it('counts no right password, even of concurrent attempts', async () => {
    expect(passed(await guessTogether(visitor(), 30, 'right'))).to.equal(30);
  });

  it('throttles for at most a minute after the clock was hours ahead', async () => {
    const at = visitor();
    await guessFiveTimes(at);
    await age(at, -7_200);
    expectWait(await guess(at), 60);
    await age(at, 30);
    expectWait(await guess(at), 30);
    await age(at, 31);
    expect((await guess(at)).type).to.equal('check');
  });

  it('expires checks of a dead process 15 s after the clock was hours ahead', async () => {
    const at = visitor();
    for (let attempts = 0; attempts < 5; attempts += 1) await node().admit(at);
    await age(at, -7_200);
    const waiting = node().admit(at);
    expect(await waiting.catch((error: unknown) => error)).to.be.instanceOf(Error);
    await age(at, 16);
    expect((await node().admit(at)).type).to.equal('throttled');
  });

  it('admits one attempt for each that expires', async () => {
    const at = visitor();
    // Wrong attempts 40, 30, 20, 10 and 0 seconds ago.
    for (let attempts = 0; attempts < 5; attempts += 1) {
      await age(at, 10);
      await guess(at);
    }
    for (const wait of [20, 10, 10, 10, 10, 20]) {
      expectWait(await guess(at), wait);
      await age(at, wait - 5);
      expectWait(await guess(at), 5);
      await age(at, 5);
      expect(passed(await guessTogether(at, 10)), `after ${wait} s`).to.equal(1);
    }
  });

  it('counts checks of a dead process as wrong attempts for a minute', async () => {
    const at = visitor();
    const dead = node();
    for (let attempts = 0; attempts < 5; attempts += 1) await dead.admit(at);
    await age(at, 15);
    expectWait(await guess(at), 60);
    await age(at, 61);
    expect((await guess(at)).type).to.equal('check');
  });

  it('does not count an attempt that was not checked', async () => {
    const at = visitor();
    const throttle = node();
    for (let attempts = 0; attempts < 20; attempts += 1) {
      expect((await throttle.admit(at)).type).to.equal('check');
      await throttle.recordVerdict(at, 'unchecked');
    }
  });

  it('deletes its rows after two minutes', async () => {
    await database.pool.query('DELETE FROM ledger.password_tries');
    const [old, recent] = [visitor(), visitor()];
    await guess(old);
    await guess(recent);
    await age(old, 121);
    expect(await deleteOldAttempts(database.pool)).to.equal(1);
    const { rows } = await database.pool.query('SELECT client FROM ledger.password_tries');
    expect(rows).to.deep.equal([{ client: recent.hash }]);
  });

  it('identifies clients by a hash that is the same on all nodes and differs between links', async () => {
    const [node1, node2] = [new ClientHash(database.pool), new ClientHash(database.pool)];
    const hash = await node1.of('spring', '198.51.100.7');
    expect(await node2.of('spring', '198.51.100.7')).to.deep.equal(hash);
    expect(await node1.of('autumn', '198.51.100.7')).not.to.deep.equal(hash);
    expect(await node1.of('spring', '198.51.100.8')).not.to.deep.equal(hash);
    expect(hash.byteLength).to.equal(16);
  });
});
