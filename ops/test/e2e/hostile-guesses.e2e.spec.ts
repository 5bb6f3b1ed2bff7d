import { expect } from 'chai';
import { behindProxy, floodWithGuesses, type FloodFigures } from '../bench/password-guesses.js';
import { productFixture } from './harness.js';

const slackMiB = 120;

/** The short form of the benchmark `password-guesses.ts`, without times. */
describe('redirect edge: flood of guesses of one password', () => {
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
      expect(phase['redirects']?.answers).to.have.all.keys('302');
      expect(phase['forms']?.answers).to.have.all.keys('200');
      expect(phase['right passwords']?.answers).to.have.all.keys('303');
      expect(phase['right passwords at the attacked link']?.answers).to.have.all.keys('303');
    }
    expect(rssMiB.most - rssMiB.before).to.be.below(slackMiB);
  };

  it('from many addresses is checked or rejected, and other visitors are served, at the same link too', async function () {
    this.timeout(120_000);
    const figures = await flood(true);
    const { answers: responses, sent } = figures.guesses;
    // On a busy machine the guesses may arrive slowly enough that all are checked.
    expect(['401', '503']).to.include.members(Object.keys(responses));
    expect(Object.values(responses).reduce((sum, count) => sum + count)).to.equal(sent);
    expectOthersServed(figures);
    const lines = bench.product.stderr().trim().split('\n');
    expect(lines.length, 'log lines').to.be.below(20);
  });

  it('from one address gets at most six 401 and then 429, and other visitors are served', async function () {
    this.timeout(120_000);
    const figures = await flood(false);
    const { answers: responses } = figures.guesses;
    expect(responses['401']).to.be.within(1, 6);
    expect(responses['429']).to.be.above(0);
    expect(responses).to.not.have.any.keys('303', '500', 'ECONNRESET');
    expectOthersServed(figures);
  });
});
