import { expect } from 'chai';
import { behindProxy, floodWithGuesses, type FloodFigures } from '../bench/password-guesses.js';
import { floodFromNetworks, origins, securedPaths } from '../bench/password-networks.js';
import { productFixture } from './harness.js';

const slackMiB = 120;

/** The short form of two benchmarks, which measure what this does not: times. */
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
      expect(phase['redirects']?.answers).to.have.all.keys('302');
      expect(phase['forms']?.answers).to.have.all.keys('200');
      expect(phase['right passwords']?.answers).to.have.all.keys('303');
    }
    expect(rssMiB.most - rssMiB.before).to.be.below(slackMiB);
  };

  it('from many addresses is checked or refused, and does not slow other visitors', async function () {
    this.timeout(120_000);
    const figures = await flood(true);
    const { answers, sent } = figures.guesses;
    // On a busy machine the guesses come slowly enough to be checked, all of them.
    expect(['401', '503']).to.include.members(Object.keys(answers));
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

  for (const origin of [
    '40 /64s of one /48',
    '250 addresses, a /16 each',
    '2,000 /48s, a /32 each',
  ]) {
    it(`from ${origin}, shuts out no visitor from another network`, async function () {
      this.timeout(120_000);
      const [quietPath = '', path = ''] = await securedPaths(bench.product, 2);
      const { guesses, visitors, bystanders } = await floodFromNetworks(bench.product, {
        guessers: origins[origin] ?? [],
        ...{ perSecond: 400, paths: [path], quietPath, visitors: 40, ms: 2_000 },
      });
      expect(visitors.answers).to.deep.equal({ 303: visitors.sent });
      expect(bystanders.answers).to.deep.equal({ 303: bystanders.sent });
      expect(guesses.answers).to.not.have.any.keys('303', '500');
    });
  }
});
