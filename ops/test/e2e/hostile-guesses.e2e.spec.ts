import { expect } from 'chai';
import { behindProxy, floodWithGuesses, type FloodFigures } from '../support/password-guesses.js';
import { productFixture } from './harness.js';

const slackMiB = 120;

describe('redirect edge: flood of guesses at one link', () => {
  const bench = productFixture(behindProxy);

  const flood = (manyClients: boolean): Promise<FloodFigures> =>
    floodWithGuesses(bench.product, {
      perSecond: 400,
      manyClients,
      normalMs: 300,
      floodMs: 1_500,
      afterMs: 300,
      warmUpMs: 200,
    });

  const expectOthersServed = ({ normal, flood: meanwhile, after, rssMiB }: FloodFigures): void => {
    for (const phase of [normal, meanwhile, after]) {
      expect(phase['redirects']?.statuses).to.have.all.keys('302');
      expect(phase['forms']?.statuses).to.have.all.keys('200');
      expect(phase['right passwords']?.statuses).to.have.all.keys('303');
      expect(phase['right passwords at the attacked link']?.statuses).to.have.all.keys('303');
    }
    expect(rssMiB.most - rssMiB.before).to.be.below(slackMiB);
  };

  it('from many addresses is checked or rejected, and other visitors are served, at the same link too', async function () {
    this.timeout(120_000);
    const figures = await flood(true);
    const { statuses, sent } = figures.guesses;
    // On a busy machine the guesses arrive slowly enough that all of them are checked.
    expect(['401', '503']).to.include.members(Object.keys(statuses));
    expect(Object.values(statuses).reduce((sum, count) => sum + count)).to.equal(sent);
    expectOthersServed(figures);
    const lines = bench.product.stderr().trim().split('\n');
    expect(lines.length, 'log lines').to.be.below(20);
  });

  it('from one address gets at most six 401 and then 429, and other visitors are served', async function () {
    this.timeout(120_000);
    const figures = await flood(false);
    const { statuses } = figures.guesses;
    expect(statuses['401']).to.be.within(1, 6);
    expect(statuses['429']).to.be.above(0);
    expect(statuses).to.not.have.any.keys('303', '500');
    expectOthersServed(figures);
  });
});
