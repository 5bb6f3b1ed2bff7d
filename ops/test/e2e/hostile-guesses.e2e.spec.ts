import { expect } from 'chai';
import { behindProxy, floodWithGuesses, type FloodFigures } from '../bench/password-guesses.js';
import { withProduct } from './harness.js';

const slackMiB = 120;

/** The short form of `ops/test/bench/password-guesses.ts`, which measures what this does not: times. */
describe('redirect edge: flood of guesses at one link', () => {
  const bench = withProduct(behindProxy);

  const flood = (manyClients: boolean): Promise<FloodFigures> =>
    floodWithGuesses(bench.product, {
      perSecond: 400,
      manyClients,
      normalMs: 300,
      floodMs: 3_000,
      afterMs: 300,
      warmUpMs: 200,
    });

  const expectOthersServed = ({ normal, flood: meanwhile, after, rssMiB }: FloodFigures): void => {
    for (const phase of [normal, meanwhile, after]) {
      expect(phase['redirects']?.answers).to.have.all.keys('302');
      expect(phase['forms']?.answers).to.have.all.keys('200');
      expect(phase['right passwords']?.answers).to.have.all.keys('303');
    }
    expect(rssMiB.most - rssMiB.before).to.be.below(slackMiB);
  };

  it('from many addresses is refused beyond the checking capacity, and does not slow other visitors', async function () {
    this.timeout(120_000);
    const figures = await flood(true);
    const { answers, sent } = figures.guesses;
    expect(Object.keys(answers).filter((status) => status !== '401')).to.deep.equal(['503']);
    expect(Object.values(answers).reduce((sum, count) => sum + count)).to.equal(sent);
    expectOthersServed(figures);
    const lines = bench.product.stderr().trim().split('\n');
    expect(lines.length, 'a line for all, not one for each').to.be.below(20);
  });

  it('from one address gets a few tries and then 429, and does not slow other visitors', async function () {
    this.timeout(120_000);
    const figures = await flood(false);
    const { answers } = figures.guesses;
    expect(answers['401']).to.be.within(1, 6);
    expect(answers['429']).to.be.above(0);
    expect(answers).to.not.have.any.keys('303', '500', 'ECONNRESET');
    expectOthersServed(figures);
  });
});
