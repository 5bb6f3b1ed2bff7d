import { expect } from 'chai';
import { durationOf, nameOf, planFaults, type Fault } from './faults.js';
import { seededRandom } from '../support/random.js';

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
    planFaults({ faults: count, rolling: 0 }, pids, seededRandom(seed), only);

  it('depends on the seed alone', () => {
    expect(plan(1)).to.deep.equal(plan(1));
    expect(plan(1)).not.to.deep.equal(plan(2));
  });

  it('has every fault once in each round', () => {
    const sortedNames = (faults: readonly Fault[]): string[] =>
      faults.map((fault) => `${nameOf(fault)} ${fault.index}`).sort();
    const parts = ['api 0', 'api 1', 'edge 0', 'edge 1', 'kafka 0', 'postgres 0']
      .concat(['projector 0', 'projector 1', 'redis 0'])
      .flatMap((part) => [`kill -9 ${part}`, `pause ${part}`]);
    const links = ['kafka 0', 'postgres 0', 'redis 0'].flatMap((part) =>
      ['silent', 'slow', 'half-open'].map((how) => `${how} link to ${part}`),
    );
    const faults = [...parts, ...links].sort();
    const planned = plan(1, 2 * faults.length);
    expect(sortedNames(planned.slice(0, faults.length))).to.deep.equal(faults);
    expect(sortedNames(planned.slice(faults.length))).to.deep.equal(faults);
  });

  it('has only the selected faults', () => {
    const pauses = plan(1, 3, ({ type, part }) => type === 'pause' && part === 'kafka');
    expect(pauses.map(nameOf)).to.deep.equal(['pause kafka', 'pause kafka', 'pause kafka']);
  });

  it('has the faults of each of several brokers, and additional rolling restarts', () => {
    const brokers = { ...pids, kafka: [7, 10, 11] };
    const only = ({ part }: Fault): boolean => part === 'kafka';
    const planned = planFaults({ faults: 24, rolling: 2 }, brokers, seededRandom(1), only);
    const countOf = (type: Fault['type'], index: number): number =>
      planned.filter((fault) => fault.type === type && fault.index === index).length;
    for (const type of ['kill', 'pause', 'silent', 'restart', 'reassign', 'election'] as const) {
      expect([0, 1, 2].map((index) => countOf(type, index))).to.deep.equal([1, 1, 1]);
    }
    expect(
      planned.map(({ type }) => type).flatMap((type, at) => (type === 'rolling' ? at : [])),
    ).to.deep.equal([8, 17]);
    expect(planned).to.have.length(26);
  });

  it('has durations from 1 s to the longest, half of them below 2 s', () => {
    const random = seededRandom(1);
    const durations = Array.from({ length: 1_000 }, () => durationOf(random, 30_000));
    expect(Math.min(...durations)).to.be.within(1_000, 1_010);
    expect(Math.max(...durations)).to.be.within(29_000, 30_000);
    expect(durations.filter((ms) => ms < 2_000).length).to.be.within(500, 650);
  });
});
