import { expect } from 'chai';
import { Overloaded } from '../concurrency/batcher.js';
import { FairQueue } from './password-hasher.js';

const manual = () => {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => () =>
    new Promise<string>((resolve) => {
      begun.push(name);
      ends.set(name, () => {
        resolve(name);
      });
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { begun, work, end };
};

describe('platform: fair queue', () => {
  it('limits concurrent jobs, and serves groups round-robin', async () => {
    const { begun, work, end } = manual();
    const queue = new FairQueue(2, 100);
    const flood = queue.run('flood', 50, ['f1', 'f2', 'f3', 'f4'].map(work));
    const other = queue.run('other', 50, ['o1', 'o2'].map(work));
    expect(begun).to.deep.equal(['f1', 'f2']);
    for (const name of ['f1', 'f2', 'f3', 'o1', 'f4', 'o2']) await end(name);
    expect(begun).to.deep.equal(['f1', 'f2', 'f3', 'o1', 'f4', 'o2']);
    expect(await flood).to.deep.equal(['f1', 'f2', 'f3', 'f4']);
    expect(await other).to.deep.equal(['o1', 'o2']);
  });

  it('accepts all jobs or none, within the capacity of the group and of the queue', async () => {
    const { begun, work, end } = manual();
    const queue = new FairQueue(1, 5);
    const refused = async (run: Promise<unknown>): Promise<void> => {
      const error: unknown = await run.catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(Overloaded);
    };
    const running = queue.run('a', 3, [work('a1')]);
    const waiting = queue.run('a', 3, ['a2', 'a3'].map(work));
    await refused(queue.run('a', 3, ['a4', 'a5'].map(work)));
    const other = queue.run('b', 3, ['b1', 'b2', 'b3'].map(work));
    await refused(queue.run('c', 3, [work('c1')]));
    for (const name of ['a1', 'a2', 'b1', 'a3', 'b2', 'b3']) await end(name);
    await Promise.all([running, waiting, other]);
    expect(begun.toSorted()).to.deep.equal(['a1', 'a2', 'a3', 'b1', 'b2', 'b3']);
  });

  it('continues after work that failed', async () => {
    const queue = new FairQueue(1, 5);
    const fail = (): Promise<never> => Promise.reject(new Error('No'));
    const error: unknown = await queue.run('a', 3, [fail]).catch((reason: unknown) => reason);
    expect(error).to.have.property('message', 'No');
    expect(await queue.run('a', 3, [() => Promise.resolve(1)])).to.deep.equal([1]);
    expect(await queue.run('a', 3, [])).to.deep.equal([]);
  });
});
