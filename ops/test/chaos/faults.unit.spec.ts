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

  it('has every part once in a round, and stops the broker in the first', () => {
    const round = plan(1, 10).map((fault) => [
      nameOf(fault),
      fault.type === 'kill' ? fault.index : 0,
    ]);
    expect(round.map(String).sort()).to.deep.equal([
      ...['kill -9 api,0', 'kill -9 api,1', 'kill -9 edge,0', 'kill -9 edge,1', 'kill -9 kafka,0'],
      ...['kill -9 postgres,0', 'kill -9 projector,0', 'kill -9 projector,1', 'kill -9 redis,0'],
      'stop kafka,0',
    ]);
  });

  it('takes those that are asked for', () => {
    const stops = plan(1, 3, ({ type }) => type === 'stopBroker');
    expect(stops.map(nameOf)).to.deep.equal(['stop kafka', 'stop kafka', 'stop kafka']);
  });
});
