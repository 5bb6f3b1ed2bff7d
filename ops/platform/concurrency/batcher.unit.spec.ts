import { expect } from 'chai';
import { rejection } from '../../test/support/waiting.js';
import { createBatcher, Overloaded } from './batcher.js';
import { deferred } from './deferred.js';

/** Resolves when the event loop has turned. */
const tick = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

describe('platform: batcher', () => {
  /** A batcher whose batches are recorded, and answered with each command's double. */
  const doubling = (
    limits: {
      maxBatch?: number;
      maxWaiting?: number;
      gatherMs?: number;
      sizeOf?: (command: number) => number;
    } = {},
  ) => {
    const batches: (readonly number[])[] = [];
    const batcher = createBatcher<number, number>({
      maxBatch: 100,
      maxWaiting: 100,
      gatherMs: Infinity,
      ...limits,
      run: (commands) => {
        batches.push(commands);
        return Promise.resolve(commands.map((command) => command * 2));
      },
    });
    return { batches, batcher };
  };

  it('decides the commands of one tick together, each with its own outcome', async () => {
    const { batches, batcher } = doubling();
    expect(await Promise.all([3, 1, 2].map((command) => batcher.submit(command)))).to.deep.equal([
      6, 2, 4,
    ]);
    expect(batches).to.deep.equal([[3, 1, 2]]);
  });

  it('fills a group by the sizes of commands, and runs a command that is too large alone', async () => {
    const { batches, batcher } = doubling({ maxBatch: 10, sizeOf: (command) => command });
    await Promise.all([5, 5, 1, 30, 9, 2].map((command) => batcher.submit(command)));
    expect(batches).to.deep.equal([[5, 5], [1], [30], [9], [2]]);
  });

  it('gathers while each tick brings more, and decides later commands separately', async () => {
    const { batches, batcher } = doubling();
    const submitted = [batcher.submit(1)];
    for (const command of [2, 3]) {
      await tick();
      submitted.push(batcher.submit(command));
    }
    await tick();
    await tick();
    submitted.push(batcher.submit(4));
    expect(await Promise.all(submitted)).to.deep.equal([2, 4, 6, 8]);
    expect(batches).to.deep.equal([[1, 2, 3], [4]]);
  });

  it('gathers for at most gatherMs', async () => {
    const { batches, batcher } = doubling({ gatherMs: 0 });
    const submitted = [batcher.submit(1)];
    await tick();
    submitted.push(batcher.submit(2));
    await Promise.all(submitted);
    expect(batches).to.deep.equal([[1], [2]]);
  });

  it('stops gathering when the group is full', async () => {
    const { batches, batcher } = doubling({ maxBatch: 2 });
    const submitted = [batcher.submit(1)];
    for (const command of [2, 3]) {
      await tick();
      submitted.push(batcher.submit(command));
    }
    await Promise.all(submitted);
    expect(batches).to.deep.equal([[1, 2], [3]]);
  });

  it('runs a group as soon as the sizes of its commands reach the limit, though more arrive', async () => {
    const { batches, batcher } = doubling({ maxBatch: 10, sizeOf: (command) => command });
    const submitted = [];
    for (const command of [4, 6, 1, 1, 1]) {
      submitted.push(batcher.submit(command));
      await tick();
    }
    expect(batches).to.deep.equal([[4, 6]]);
    await Promise.all(submitted);
  });

  it('gathers commands during a run, one group at a time', async () => {
    const gate = deferred();
    const batches: (readonly number[])[] = [];
    let running = 0;
    let most = 0;
    const batcher = createBatcher<number, number>({
      maxBatch: 100,
      maxWaiting: 100,
      run: async (commands) => {
        batches.push(commands);
        running += 1;
        most = Math.max(most, running);
        await gate.promise;
        running -= 1;
        return commands;
      },
    });
    const submitted = [batcher.submit(1)];
    await tick();
    await tick();
    for (const command of [2, 3]) {
      submitted.push(batcher.submit(command));
      await tick();
    }
    expect(batches).to.deep.equal([[1]]);
    gate.resolve();
    expect(await Promise.all(submitted)).to.deep.equal([1, 2, 3]);
    expect(batches).to.deep.equal([[1], [2, 3]]);
    expect(most).to.equal(1);
  });

  it('limits the size of groups, and keeps the order', async () => {
    const { batches, batcher } = doubling({ maxBatch: 3 });
    const commands = [1, 2, 3, 4, 5, 6, 7];
    const outcomes = await Promise.all(commands.map((command) => batcher.submit(command)));
    expect(outcomes).to.deep.equal([2, 4, 6, 8, 10, 12, 14]);
    expect(batches).to.deep.equal([[1, 2, 3], [4, 5, 6], [7]]);
  });

  it('rejects commands when the queue is full, and accepts them again later', async () => {
    const { batches, batcher } = doubling({ maxWaiting: 2 });
    const accepted = [batcher.submit(1), batcher.submit(2)];
    const refused = await rejection(batcher.submit(3));
    expect(refused).to.be.instanceOf(Overloaded);
    expect(refused).to.have.property('code', 'OVERLOADED');
    expect(await Promise.all(accepted)).to.deep.equal([2, 4]);
    expect(await batcher.submit(4)).to.equal(8);
    expect(batches).to.deep.equal([[1, 2], [4]]);
  });

  const failures: readonly (readonly [string, () => Promise<readonly number[]>])[] = [
    ['rejects', () => Promise.reject(new Error('Away'))],
    [
      'throws synchronously',
      () => {
        throw new Error('Away');
      },
    ],
    ['omits an outcome', () => Promise.resolve([1])],
  ];
  for (const [what, fail] of failures) {
    it(`fails a whole group when its run ${what}, and no other group`, async () => {
      let runs = 0;
      const batcher = createBatcher<number, number>({
        maxBatch: 2,
        maxWaiting: 100,
        run: (commands) => {
          runs += 1;
          return runs === 1 ? fail() : Promise.resolve(commands);
        },
      });
      const [first, second, third] = await Promise.allSettled(
        [1, 2, 3].map((command) => batcher.submit(command)),
      );
      expect(first).to.include({ status: 'rejected' });
      expect(second).to.include({ status: 'rejected' });
      expect(third).to.deep.equal({ status: 'fulfilled', value: 3 });
      expect(await batcher.submit(4)).to.equal(4);
    });
  }

  describe('if one command may be the cause', () => {
    const failing = (bad: (command: number) => boolean) => {
      let runs = 0;
      const batcher = createBatcher<number, number>({
        maxBatch: 1_000,
        maxWaiting: 1_000,
        run: (commands) => {
          runs += 1;
          const failed = commands.find(bad);
          return failed === undefined
            ? Promise.resolve(commands)
            : Promise.reject(new Error(`bad: ${failed}`));
        },
        mayBeCausedByOneCommand: (error) => (error as Error).message !== 'bad: 13',
      });
      const submit = (): Promise<PromiseSettledResult<number>[]> =>
        Promise.allSettled(Array.from({ length: 1_000 }, (_, index) => batcher.submit(index)));
      return { submit, runs: () => runs };
    };
    const rejected = (outcomes: readonly PromiseSettledResult<number>[]): number[] =>
      outcomes.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []));

    it('fails that command alone', async () => {
      const { submit, runs } = failing((command) => command === 0 || command === 700);
      expect(rejected(await submit())).to.deep.equal([0, 700]);
      expect(runs()).to.be.at.most(41);
    });

    it('runs a bounded number of times if all fail', async () => {
      const { submit, runs } = failing(() => true);
      expect(rejected(await submit())).to.have.length(1_000);
      expect(runs()).to.be.at.most(41);
    });

    it('fails the group immediately if no command is the cause', async () => {
      const { submit, runs } = failing((command) => command === 13);
      expect(rejected(await submit())).to.have.length(1_000);
      expect(runs()).to.equal(1);
    });
  });

  it('yields to the event loop between groups', async () => {
    let iterations = 0;
    let decided = 0;
    const batcher = createBatcher<number, number>({
      maxBatch: 1,
      maxWaiting: 100,
      run: (commands) => {
        decided += 1;
        return Promise.resolve(commands);
      },
    });
    const again = async (): Promise<void> => {
      for (let count = 0; count < 20; count += 1) await batcher.submit(count);
    };
    let ended = false;
    const clients = Promise.all([again(), again()]).then(() => {
      ended = true;
    });
    // Read through a function: the loop awaits, and the value changes meanwhile.
    const isEnded = (): boolean => ended;
    while (!isEnded()) {
      await tick();
      iterations += 1;
    }
    await clients;
    expect(decided).to.equal(40);
    expect(iterations).to.be.at.least(40);
  });

  it('decides commands in the order of their arrival', async () => {
    const { batcher } = doubling({ maxBatch: 2 });
    const order: number[] = [];
    const submit = async (command: number): Promise<void> => {
      await batcher.submit(command);
      order.push(command);
      // Every outcome brings a new command, as a busy client does.
      if (command < 20) await submit(command + 10);
    };
    await Promise.all([1, 2, 3, 4, 5].map(submit));
    expect(order).to.deep.equal([1, 2, 3, 4, 5, 11, 12, 13, 14, 15, 21, 22, 23, 24, 25]);
  });
});
