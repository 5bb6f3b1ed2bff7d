import { expect } from 'chai';
import { setImmediate as tick } from 'node:timers/promises';
import { rejection } from '../../test/support/waiting.js';
import { createBatcher, Overloaded } from './batcher.js';
import { deferred } from './deferred.js';

type Options = Parameters<typeof createBatcher<number, number>>[0];
type Run = Options['run'];

const double: Run = (commands) => Promise.resolve(commands.map((command) => command * 2));
const fail = (): never => {
  throw new Error('Away');
};

describe('platform: batcher', () => {
  const start = ({ run = double, ...limits }: Partial<Options> = {}) => {
    const batches: (readonly number[])[] = [];
    const batcher = createBatcher<number, number>({
      ...{ maxBatch: 100, maxWaiting: 100, gatherMs: Infinity, ...limits },
      run(commands) {
        batches.push(commands);
        return run(commands);
      },
    });
    const submit = (command: number): Promise<number> => batcher.submit(command);
    const submitAll = (commands: readonly number[]) => Promise.all(commands.map(submit));
    const submitPerTick = async (...commands: readonly number[]) => {
      const submitted: Promise<number>[] = [];
      for (const command of commands) {
        submitted.push(submit(command));
        await tick();
      }
      return { outcomes: Promise.all(submitted) };
    };
    return { batches, submit, submitAll, submitPerTick };
  };
  const sizeOf = (command: number): number => command;

  const groups: readonly (readonly [
    title: string,
    limits: Partial<Options>,
    commands: readonly number[],
    batches: readonly (readonly number[])[],
  ])[] = [
    ['decides the commands of one tick together, in order', {}, [3, 1, 2], [[3, 1, 2]]],
    [
      'limits the size of groups, and keeps the order',
      { maxBatch: 3 },
      [1, 2, 3, 4, 5, 6, 7],
      [[1, 2, 3], [4, 5, 6], [7]],
    ],
    [
      'fills a group by the sizes of commands, and runs a command that is too large alone',
      { maxBatch: 10, sizeOf },
      [5, 5, 1, 30, 9, 2],
      [[5, 5], [1], [30], [9], [2]],
    ],
  ];
  for (const [title, limits, commands, expected] of groups) {
    it(title, async () => {
      const { batches, submitAll } = start(limits);
      expect(await submitAll(commands)).to.deep.equal(commands.map((command) => command * 2));
      expect(batches).to.deep.equal(expected);
    });
  }

  const gathered: typeof groups = [
    ['gathers while each tick brings more', {}, [1, 2, 3], [[1, 2, 3]]],
    ['gathers for at most gatherMs', { gatherMs: 0 }, [1, 2], [[1], [2]]],
    ['stops gathering when the group is full', { maxBatch: 2 }, [1, 2, 3], [[1, 2], [3]]],
  ];
  for (const [title, limits, commands, expected] of gathered) {
    it(title, async () => {
      const { batches, submitPerTick } = start(limits);
      await (
        await submitPerTick(...commands)
      ).outcomes;
      expect(batches).to.deep.equal(expected);
    });
  }

  it('runs a group as soon as the sizes of its commands reach the limit, though more arrive', async () => {
    const { batches, submitPerTick } = start({ maxBatch: 10, sizeOf });
    const { outcomes } = await submitPerTick(4, 6, 1, 1, 1);
    expect(batches).to.deep.equal([[4, 6]]);
    await outcomes;
  });

  it('gathers commands during a run, one group at a time', async () => {
    const gate = deferred();
    const { batches, submitPerTick } = start({
      run: (commands) => gate.promise.then(() => commands),
    });
    const first = await submitPerTick(1);
    await tick();
    const others = await submitPerTick(2, 3);
    expect(batches).to.deep.equal([[1]]);
    gate.resolve();
    expect(await Promise.all([first.outcomes, others.outcomes])).to.deep.equal([[1], [2, 3]]);
    expect(batches).to.deep.equal([[1], [2, 3]]);
  });

  it('rejects commands when the queue is full, and accepts them again later', async () => {
    const { batches, submit, submitAll } = start({ maxWaiting: 2 });
    const accepted = submitAll([1, 2]);
    expect(await rejection(submit(3)))
      .to.be.instanceOf(Overloaded)
      .with.property('code', 'OVERLOADED');
    expect(await accepted).to.deep.equal([2, 4]);
    expect(await submit(4)).to.equal(8);
    expect(batches).to.deep.equal([[1, 2], [4]]);
  });

  const failures: readonly (readonly [string, Run])[] = [
    ['rejects', () => Promise.reject(new Error('Away'))],
    ['throws synchronously', fail],
    ['omits an outcome', () => Promise.resolve([1])],
  ];
  for (const [what, failing] of failures) {
    it(`fails a whole group when its run ${what}, and no other group`, async () => {
      const runs = [failing];
      const { submit } = start({
        maxBatch: 2,
        run: (commands) => (runs.pop() ?? double)(commands),
      });
      const outcomes = await Promise.allSettled([1, 2, 3].map(submit));
      expect(outcomes.map(({ status }) => status)).to.deep.equal([
        ...['rejected', 'rejected', 'fulfilled'],
      ]);
      expect(await submit(4)).to.equal(8);
    });
  }

  for (const [title, isBad, rejected, maxRuns] of [
    ['fails a command alone that causes the failure', (n: number) => n === 0 || n === 700, 2, 41],
    ['runs a bounded number of times if all commands fail', () => true, 1_000, 41],
    ['fails the group immediately if no command is the cause', (n: number) => n === 13, 1_000, 1],
  ] as const) {
    it(title, async () => {
      const { batches, submit } = start({
        ...{ maxBatch: 1_000, maxWaiting: 1_000 },
        run: async (commands) => {
          const bad = commands.find(isBad);
          if (bad !== undefined) throw new Error(`bad: ${bad}`);
          return double(commands);
        },
        mayBeCausedByOneCommand: (error) => (error as Error).message !== 'bad: 13',
      });
      const commands = Array.from({ length: 1_000 }, (_, index) => index);
      const outcomes = await Promise.allSettled(commands.map(submit));
      const failed = commands.filter((index) => outcomes[index]?.status === 'rejected');
      expect(failed).to.have.length(rejected).and.to.include.members(commands.filter(isBad));
      expect(batches.length).to.be.at.most(maxRuns);
    });
  }

  it('yields to the event loop between groups', async () => {
    const { batches, submit } = start({ maxBatch: 1 });
    const again = async (): Promise<void> => {
      for (let count = 0; count < 20; count += 1) await submit(count);
    };
    const state = { iterations: 0, ended: false };
    const clients = Promise.all([again(), again()]).then(() => {
      state.ended = true;
    });
    for (; !state.ended; state.iterations += 1) await tick();
    await clients;
    expect(batches).to.have.length(40);
    expect(state.iterations).to.be.at.least(40);
  });

  it('decides commands in the order of their arrival', async () => {
    const { submit } = start({ maxBatch: 2 });
    const order: number[] = [];
    const submitAgain = async (command: number): Promise<void> => {
      await submit(command);
      order.push(command);
      // Every outcome brings a new command, as a busy client does.
      if (command < 20) await submitAgain(command + 10);
    };
    await Promise.all([1, 2, 3, 4, 5].map(submitAgain));
    expect(order).to.deep.equal([1, 2, 3, 4, 5, 11, 12, 13, 14, 15, 21, 22, 23, 24, 25]);
  });
});
