import { expect } from 'chai';
import { Overloaded } from '../../ops/platform/concurrency/batcher.js';
import { NamedLimits } from './password-check.js';

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('redirect edge: named limits', () => {
  it('run at most so many tasks of a name at once, the others in their order, each name by itself', async () => {
    const limits = new NamedLimits(2, 2);
    const inside: string[] = [];
    const leave = new Map<string, () => void>();
    const visit = (client: string, name: string): Promise<void> =>
      limits.run(client, async () => {
        inside.push(name);
        await new Promise<void>((resolve) => leave.set(name, resolve));
      });
    const visits = ['a1', 'a2', 'a3', 'a4'].map((name) => visit('a', name));
    expect([limits.isFull('a'), limits.isFull('b')]).to.deep.equal([true, false]);
    const refused: unknown = await visit('a', 'a5').catch((reason: unknown) => reason);
    expect(refused).to.be.instanceOf(Overloaded);
    visits.push(visit('b', 'b1'));
    await tick();
    expect(inside).to.deep.equal(['a1', 'a2', 'b1']);
    leave.get('a2')?.();
    await tick();
    leave.get('a1')?.();
    await tick();
    expect(inside).to.deep.equal(['a1', 'a2', 'b1', 'a3', 'a4']);
    expect(limits.isFull('a')).to.equal(false);
    for (const name of ['a3', 'a4', 'b1']) leave.get(name)?.();
    await Promise.all(visits);
    expect(limits.isFull('a')).to.equal(false);
  });

  it('have room again after a task that failed', async () => {
    const limits = new NamedLimits(1, 1);
    const fail = (): Promise<never> => Promise.reject(new Error('No'));
    const [failed, done] = await Promise.allSettled([
      limits.run('a', fail),
      limits.run('a', () => Promise.resolve('in')),
    ]);
    expect(failed.status).to.equal('rejected');
    expect(done).to.deep.equal({ status: 'fulfilled', value: 'in' });
  });
});
