import { expect } from 'chai';
import { createLogger } from '../../ops/platform/logging.js';
import {
  createSafeBrowsing,
  safeBrowsingLimits,
  type SafeBrowsing,
  type SafeBrowsingLimits,
} from './safe-browsing.js';
import { type Behaviour } from './testing/safe-browsing-double.js';
import { createThreatFinder } from './threat-matches.js';
import { safeBrowsingFixture } from '../../ops/test/support/fixtures.js';

const good = 'https://good.example/';
const evil = 'https://evil.example/';
const third = 'https://third.example/';
const urlsOf = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `https://${index}.example/`);

describe('command API: Safe Browsing over HTTP', () => {
  const double = safeBrowsingFixture({ per: 'test' });
  let time: number;
  beforeEach(() => {
    time = 0;
  });

  const service = (limits: Partial<SafeBrowsingLimits> = {}, url = double.url): SafeBrowsing => {
    const merged = { ...safeBrowsingLimits, timeoutMs: 500, ...limits };
    return createSafeBrowsing({
      findThreats: createThreatFinder({ apiKey: 'k&y', url, timeoutMs: merged.timeoutMs }),
      logger: createLogger('silent'),
      limits: merged,
      now: () => time,
    });
  };

  it('sends the request of threatMatches:find', async () => {
    await service().check([good]);
    const [request] = double.asked;
    const path = '/v4/threatMatches:find';
    const contentType = 'application/json';
    expect(request).to.deep.include({ method: 'POST', path, key: 'k&y', contentType });
    expect(request?.body.client.clientId).to.equal('linklog');
    const threats = ['MALWARE', 'SOCIAL_ENGINEERING', 'UNWANTED_SOFTWARE'];
    expect(request?.body.threatInfo).to.deep.equal({
      threatTypes: [...threats, 'POTENTIALLY_HARMFUL_APPLICATION'],
      platformTypes: ['ANY_PLATFORM'],
      threatEntryTypes: ['URL'],
      threatEntries: [{ url: good }],
    });
    await service({}, `${double.url}/proxy/find?tenant=1`).check([good]);
    expect(double.asked[1]).to.include({ path: '/proxy/find', key: 'k&y' });
  });

  it('sends URLs in canonical form: without fragment, trailing dot and capitals', async () => {
    const { check } = service();
    await check(['https://GOOD.example./a?b#c', 'https://good.example/a?b#d']);
    expect(double.urls()).to.deep.equal([['https://good.example/a?b']]);
  });

  it('looks up a limited number of URLs for each root key in an hour', async () => {
    const { check } = service({ hourlyUrls: 3 });
    expect(await check([good, third, good], 'key-1')).to.deep.equal(['safe', 'safe', 'safe']);
    expect(await check([good, ...urlsOf(2)], 'key-1')).to.deep.equal([
      'safe',
      'unknown',
      'unknown',
    ]);
    expect(await check(urlsOf(1), 'key-1')).to.deep.equal(['safe']);
    expect(await check(['https://new.example/'], 'key-1')).to.deep.equal(['unknown']);
    expect(await check(['https://new.example/'], 'key-2')).to.deep.equal(['safe']);
    expect(await check(urlsOf(9))).not.to.include('unknown');
    time += 3_600_000;
    expect(await check([good], 'key-1')).to.deep.equal(['safe']);
  });

  describe('minimises calls:', () => {
    it('caches verdicts, and returns them in the order of the URLs', async () => {
      const { check } = service();
      expect(await check([good, evil, third])).to.deep.equal(['safe', 'unsafe', 'safe']);
      expect(await check([evil, good])).to.deep.equal(['unsafe', 'safe']);
      await check([good, 'https://fourth.example/']);
      expect(double.urls()).to.deep.equal([[good, evil, third], ['https://fourth.example/']]);
    });

    it('caches a match for the duration that the service returns', async () => {
      const { check } = service({ safeMs: 1_000, unsafeMs: 5_000 });
      double.cacheDuration = '3s';
      await check([good, evil]);
      time = 1_500;
      expect(await check([good, evil])).to.deep.equal(['safe', 'unsafe']);
      time = 3_000;
      await check([evil]);
      expect(double.urls()).to.deep.equal([[good, evil], [good], [evil]]);
    });

    for (const cacheDuration of [undefined, 'soon']) {
      it(`caches a match with the duration ${cacheDuration} for the default time`, async () => {
        const { check } = service({ unsafeMs: 5_000 });
        double.cacheDuration = cacheDuration;
        await check([evil]);
        time = 4_999;
        expect(await check([evil])).to.deep.equal(['unsafe']);
        time = 5_000;
        await check([evil]);
        expect(double.asked).to.have.length(2);
      });
    }

    it('shares the pending request for a URL', async () => {
      const { check } = service();
      double.delayMs = 50;
      const first = check([good]);
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(await check([good, good])).to.deep.equal(['safe', 'safe']);
      expect(await first).to.deep.equal(['safe']);
      expect(double.urls()).to.deep.equal([[good]]);
    });

    it('combines concurrent checks in one call', async () => {
      const { check } = service();
      const urls = urlsOf(300);
      await Promise.all(urls.map((url) => check([url])));
      expect(double.urls()).to.deep.equal([urls]);
    });

    it('sends at most 500 URLs per call, and bounds concurrent calls', async () => {
      const { check } = service({ maxCalls: 2 });
      double.delayMs = 20;
      const verdicts = await check(urlsOf(1_600));
      expect(new Set(verdicts)).to.deep.equal(new Set(['safe']));
      const lengths = double.urls().map(({ length }) => length);
      expect(lengths.sort((a, b) => a - b)).to.deep.equal([100, 500, 500, 500]);
      expect(double.maxConcurrent()).to.equal(2);
    });
  });

  describe('re-checks of existing links', () => {
    it('ignores cached safe verdicts, and updates the cache', async () => {
      const { check, recheck } = service();
      expect(await check([good])).to.deep.equal(['safe']);
      double.listed.add('good.example');
      expect(await check([good])).to.deep.equal(['safe']);
      expect(await recheck([good])).to.deep.equal(['unsafe']);
      expect(await check([good])).to.deep.equal(['unsafe']);
      expect(double.urls()).to.deep.equal([[good], [good]]);
    });

    it('requests each URL once, and no known unsafe URL', async () => {
      const { check, recheck } = service();
      await check([evil]);
      const verdicts = await recheck([good, evil, `${good}#top`, good]);
      expect(verdicts).to.deep.equal(['safe', 'unsafe', 'safe', 'safe']);
      expect(double.urls()).to.deep.equal([[evil], [good]]);
    });

    it('does not delay checks, even with many URLs', async () => {
      const { check, recheck } = service({ maxCalls: 1, maxWaiting: 1 });
      double.delayMs = 50;
      const again = recheck(urlsOf(1_100));
      await check([good]);
      expect(await check([evil])).to.deep.equal(['unsafe']);
      await again;
      const lengths = double.urls().map(({ length }) => length);
      expect(lengths.sort((a, b) => a - b)).to.deep.equal([1, 1, 100, 500, 500]);
      expect(double.maxConcurrent()).to.equal(2);
    });

    it('shares the circuit breaker, and returns unknown while it is open', async () => {
      const { check, recheck } = service({ failures: 2, pauseMs: 1_000 });
      await check([good]);
      double.behaviour = 'fail';
      expect(await recheck([good])).to.deep.equal(['unknown']);
      expect(await recheck([good])).to.deep.equal(['unknown']);
      double.behaviour = 'answer';
      expect(await recheck([good])).to.deep.equal(['unknown']);
      expect(await check([third])).to.deep.equal(['unknown']);
      expect(double.asked, 'the circuit is open').to.have.length(3);
      time = 1_000;
      expect(await recheck([good])).to.deep.equal(['safe']);
      expect(await check([third])).to.deep.equal(['safe']);
    });
  });

  it('retries once after a closed connection', async () => {
    const { check } = service();
    double.behaviour = 'resetOnce';
    expect(await check([good, evil])).to.deep.equal(['safe', 'unsafe']);
    expect(double.asked).to.have.length(2);
  });

  describe('returns unknown', () => {
    const failures: readonly Behaviour[] = [
      ...(['hang', 'stall', 'fail', 'malformed', 'otherJson', 'otherUrl'] as const),
      ...(['redirect', 'reset'] as const),
    ];
    for (const behaviour of failures) {
      it(`if the service fails: ${behaviour}`, async () => {
        const { check } = service();
        double.behaviour = behaviour;
        expect(await check([good, evil])).to.deep.equal(['unknown', 'unknown']);
        double.behaviour = 'answer';
        expect(await check([good, evil]), 'nothing was cached').to.deep.equal(['safe', 'unsafe']);
      });
    }

    it('if the connection is refused', async () => {
      const { check } = service();
      await double.stop();
      expect(await check([good])).to.deep.equal(['unknown']);
    });

    it('if the queue is full', async () => {
      const { check } = service({ maxWaiting: 1 });
      expect(await check([good, evil])).to.deep.equal(['safe', 'unknown']);
    });

    it('if the call is not made in time', async () => {
      const { check } = createSafeBrowsing({
        findThreats: () => new Promise(() => undefined),
        logger: createLogger('silent'),
        limits: { ...safeBrowsingLimits, maxCalls: 1, timeoutMs: 20 },
      });
      const verdicts = await Promise.all([check([good]), check([evil])]);
      // It waits for the only allowed call.
      verdicts.push(await check([third]));
      expect(verdicts).to.deep.equal([['unknown'], ['unknown'], ['unknown']]);
    });
  });
});
