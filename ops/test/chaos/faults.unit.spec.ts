import { expect } from 'chai';
import { nameOf, planFaults, type Fault } from './faults.js';
import { seededRandom } from './random.js';

describe('chaos: plan of faults', () => {
  const pids = {
    api: [1, 2],
    edge: [3, 4],
    projector: [5, 6],
    kafka: [7],
    postgres: [8],
    redis: [9],
  };
  const plan = (seed: number, count = 100, only: (fault: Fault) => boolean = () => true) =>
    planFaults(count, pids, seededRandom(seed), only);

  it('is the same for a seed, and another for another', () => {
    expect(plan(1)).to.deep.equal(plan(1));
    expect(plan(1)).not.to.deep.equal(plan(2));
  });

  it('has every part once in a round, and pauses each in the first', () => {
    const namesOf = (faults: readonly Fault[]): string[] =>
      faults.map((fault) => `${nameOf(fault)} ${fault.index}`).sort();
    const parts = ['api 0', 'api 1', 'edge 0', 'edge 1', 'kafka 0', 'postgres 0']
      .concat(['projector 0', 'projector 1', 'redis 0'])
      .map((part) => ({ pause: `pause ${part}`, kill: `kill -9 ${part}` }));
    const planned = plan(1, 18);
    expect(namesOf(planned.slice(0, 9))).to.deep.equal(parts.map(({ pause }) => pause));
    expect(namesOf(planned.slice(9))).to.deep.equal(parts.map(({ kill }) => kill));
  });

  it('takes those that are asked for', () => {
    const pauses = plan(1, 3, ({ type, part }) => type === 'pause' && part === 'kafka');
    expect(pauses.map(nameOf)).to.deep.equal(['pause kafka', 'pause kafka', 'pause kafka']);
  });
});
