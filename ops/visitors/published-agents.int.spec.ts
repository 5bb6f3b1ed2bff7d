import { expect } from 'chai';
import { isBot } from './bots.js';
import { publishedBrowsers, publishedCrawlers } from './testing/published-agents.js';

/** Headless browsers, which are visitors. */
const automation = /HeadlessChrome|PhantomJS|Playwright|Puppeteer|Selenium|Cypress/;

describe('visitors: bots in published collections of user agents', () => {
  const print = (count: string, exceptions: readonly string[]): void => {
    process.stdout.write([`      ${count}`, ...exceptions, ''].join('\n        '));
  };

  it('are at least 99 % of the crawlers of crawler-user-agents', () => {
    const crawlers = publishedCrawlers()
      .filter(({ tags }) => !tags?.includes('http-library'))
      .flatMap(({ instances }) => instances)
      .filter((userAgent) => !automation.test(userAgent));
    const visitors = crawlers.filter((userAgent) => !isBot(userAgent));
    print(`${crawlers.length - visitors.length} of ${crawlers.length} crawlers are bots`, visitors);
    expect(crawlers).to.have.length.above(1_900);
    expect(visitors.length / crawlers.length).to.be.at.most(0.01);
  });

  it('are at most 1 of 10,000 of the browsers of uap-core', () => {
    const browsers = publishedBrowsers();
    const bots = browsers.filter((userAgent) => isBot(userAgent));
    print(`${bots.length} of ${browsers.length} browsers are bots`, bots);
    expect(browsers).to.have.length.above(20_000);
    expect(bots.length / browsers.length).to.be.at.most(0.0001);
  });
});
