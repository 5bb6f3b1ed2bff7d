import { expect } from 'chai';
import type { Request } from 'playwright-core';
import { consoleFixture } from '../support/console.js';
import { fixture } from '../support/fixture.js';
import type { IssuedKey } from '../support/product.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { eventually } from '../support/waiting.js';
import { destination, sharedProduct } from './harness.js';

const phone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1';

/** Records the total and the length of the list after each change of the page. */
const watchNumbers = `{
  const seen = new Set();
  const read = () => {
    const total = document.querySelector('dd .figure').textContent;
    seen.add(total + ' clicks, ' + document.querySelectorAll('ol.live li').length + ' events');
  };
  read();
  new MutationObserver(read).observe(document, { subtree: true, childList: true, characterData: true });
  globalThis.seenNumbers = seen;
}`;

describe('the console’s live view', () => {
  const bench = sharedProduct();
  const proxy = fixture(
    () => startTcpProxy(bench.product.api),
    (started) => started.close(),
  );
  const console = consoleFixture(bench);
  const { page, provoke, expectAccessible } = console;
  let key: IssuedKey;
  /** The open streams of the page. */
  let streams: Set<Request>;

  beforeEach(async () => {
    key = await bench.key('PRO', { account: `live-${Date.now()}` });
    await console.open(new URL(proxy.url).origin);
    streams = new Set();
    page.on('request', (request) => {
      if (request.url().includes('/v2/events?')) streams.add(request);
    });
    page.on('requestfinished', (request) => streams.delete(request));
    page.on('requestfailed', (request) => streams.delete(request));
  });

  const section = () => page.getByRole('region', { name: 'Live' });

  const expectState = (state: string): Promise<void> =>
    section().locator('.badge[role=status]').getByText(state, { exact: true }).waitFor();

  const rows = () => section().getByRole('listitem');

  it('shows visits and changes of all links, the newest first', async () => {
    const { shortCode } = await bench.link(key.key);
    await console.signIn(key.key);
    await expectState('Live');
    await expectAccessible('no events');
    const headers = { 'User-Agent': phone, Referer: 'https://news.example/' };
    await bench.visit(`${shortCode}?qr`, { headers });
    await rows().getByText('Safari, Mobile, from news.example, QR code').waitFor();
    await page.getByText('1 now visits in the last 5 minutes').waitFor();
    await bench.change(shortCode, key.key, { url: `${destination}&changed` });
    await rows().first().getByText('Link edited').waitFor();
    await expectAccessible('events');
    for (let visit = 0; visit < 11; visit += 1) await bench.visit(shortCode);
    await section().getByText('Link edited').waitFor({ state: 'detached' });
    expect(await rows().count()).to.equal(10);
    await rows().first().getByRole('link', { name: shortCode }).click();
    await page.waitForURL(new RegExp(`/links/${shortCode}$`));
  });

  it('counts visits in the total, the series, the breakdowns and the list together', async () => {
    const { shortCode } = await bench.link(key.key);
    await console.signIn(key.key);
    await expectState('Live');
    await page.getByText('No clicks in this period').first().waitFor();
    // In the page, because it may show a contradiction for a moment.
    await page.evaluate(watchNumbers);
    await bench.visit(shortCode, { headers: { 'User-Agent': phone } });
    await page.getByText('1 now visits in the last 5 minutes').waitFor();
    await bench.visit(shortCode, { headers: { 'User-Agent': phone } });
    await page.getByText('2 now visits in the last 5 minutes').waitFor();
    expect(await rows().count()).to.equal(2);
    await page.getByText('No clicks in this period').waitFor({ state: 'detached' });
    await page.getByRole('img', { name: '2 clicks over time.' }).waitFor();
    await page.getByRole('region', { name: 'Most clicked' }).getByText(shortCode).waitFor();
    await page.getByRole('region', { name: 'Devices' }).getByText('Safari').waitFor();
    const seen = await page.evaluate<readonly string[]>('[...globalThis.seenNumbers]');
    expect(seen.map((text) => text.replace(/\s+/g, ' '))).to.deep.equal([
      ...['0 clicks, 0 events', '1 clicks, 1 events', '2 clicks, 2 events'],
    ]);
  });

  it('shows visitor-days as unknown if no visit has a visitor', async () => {
    const { shortCode } = await bench.link(key.key);
    await bench.visit(shortCode, { headers: { 'Sec-GPC': '1' } });
    await bench.expectClicks(shortCode, key.key, 1);
    await console.signIn(key.key);
    await page.getByRole('button', { name: /^Period/ }).click();
    await page.getByLabel('Compare with the period before').check();
    const days = page.locator('.figures > div').filter({ hasText: 'Visitor-days' }).locator('dd');
    await days.getByText('unknown').waitFor();
    expect(await days.textContent()).not.to.include('before');
    await bench.visit(shortCode);
    await page.reload();
    await days.getByText('1 new (before: 0)').waitFor();
  });

  it('continues after an interruption, without a gap', async () => {
    const { shortCode } = await bench.link(key.key);
    await console.signIn(key.key);
    await expectState('Live');
    await bench.visit(shortCode);
    await rows().first().waitFor();
    proxy.pause();
    proxy.cut();
    await expectState('Reconnecting');
    await bench.visit(shortCode);
    proxy.resume();
    await expectState('Live');
    await eventually('the missed visit is shown', async () => (await rows().count()) === 2);
    provoke(...console.faults().filter((fault) => fault.includes('net::ERR_')));
  });
});
