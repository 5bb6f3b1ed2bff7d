import { expect } from 'chai';
import type { Request } from 'playwright-core';
import { scopeNames } from '../../../schemas/scopes.js';
import { consoleFixture, loadError } from '../support/console.js';
import { fixture } from '../support/fixture.js';
import type { IssuedKey } from '../support/product.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { eventually } from '../support/waiting.js';
import { destination, sharedProduct } from './harness.js';

const phone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1';

describe('the console’s live view', () => {
  const bench = sharedProduct();
  const proxy = fixture(
    () => startTcpProxy(bench.product.api),
    (started) => started.close(),
  );
  const console = consoleFixture(bench);
  const { page, button, show, provoke, expectAccessible } = console;
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

  /** Sets what the page knows of its visibility. */
  const setVisibility = (visibility: 'visible' | 'hidden'): Promise<void> =>
    page.evaluate(
      `Object.defineProperty(document, 'visibilityState', { value: '${visibility}', configurable: true });
       document.dispatchEvent(new Event('visibilitychange'));`,
    );

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

  it('shows only the link of a page, by one stream, which ends with the page', async () => {
    const [link, other] = [await bench.link(key.key), await bench.link(key.key)];
    await console.signIn(key.key);
    await expectState('Live');
    await show(`/links/${link.shortCode}`);
    await expectState('Live');
    await bench.visit(other.shortCode);
    await bench.visit(link.shortCode);
    await rows().getByText(link.shortCode).waitFor();
    expect(await rows().count()).to.equal(1);
    await expectAccessible();
    expect(streams.size).to.equal(1);
    await page.getByRole('link', { name: 'Overview' }).click();
    await expectState('Live');
    await eventually('one stream is open', () => streams.size === 1);
    await page.getByRole('link', { name: 'Keys' }).click();
    await eventually('no stream is open', () => streams.size === 0);
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

  it('is paused by the user, and while the page is hidden', async () => {
    const { shortCode } = await bench.link(key.key);
    await console.signIn(key.key);
    await expectState('Live');
    await bench.visit(shortCode);
    await rows().first().waitFor();
    await button('Pause').focus();
    await page.keyboard.press('Enter');
    await expectState('Paused');
    await eventually('no stream is open', () => streams.size === 0);
    await expectAccessible('paused');
    await bench.visit(shortCode);
    await button('Continue').click();
    await eventually('the missed visit is shown', async () => (await rows().count()) === 2);

    await setVisibility('hidden');
    await expectState('Paused');
    await eventually('no stream is open', () => streams.size === 0);
    await setVisibility('visible');
    await expectState('Live');
    await bench.visit(shortCode);
    await eventually('the next visit is shown', async () => (await rows().count()) === 3);
  });

  it('ends with a message while the key has too many streams', async () => {
    const others = new AbortController();
    const headers = { Accept: 'text/event-stream', Authorization: `Bearer ${key.key}` };
    for (let stream = 0; stream < 10; stream += 1) {
      await fetch(`${bench.product.api}/v2/events`, { headers, signal: others.signal });
    }
    await console.signIn(key.key);
    await section().getByText('At most 10 streams a root key').waitFor();
    await expectAccessible();
    others.abort();
    await eventually('the view is live', async () => {
      if (await button('Try again').isVisible()) await button('Try again').click();
      return section()
        .locator('.badge[role=status]')
        .getByText('Live', { exact: true })
        .isVisible();
    });
    provoke(...console.faults().filter((fault) => fault === loadError(429)));
  });

  it('ends while the key lacks the scope, and with a message when the key ends', async () => {
    await console.signIn(key.key);
    await expectState('Live');
    const scopes = scopeNames.filter((scope) => scope !== 'events:read');
    await bench.admin('PATCH', `/admin/keys/${key.id}`, { scopes });
    await section().waitFor({ state: 'detached' });
    await bench.admin('PATCH', `/admin/keys/${key.id}`, { scopes: scopeNames });
    await expectState('Live');
    await bench.admin('PATCH', `/admin/keys/${key.id}`, { active: false });
    await section().getByText('You are not signed in').waitFor();
    await expectAccessible();
    // The stream may be refused before the page knows the new scopes.
    provoke(
      ...console.faults().filter((fault) => [loadError(403), loadError(401)].includes(fault)),
    );
  });

  it('needs the scope events:read', async () => {
    const scopes = scopeNames.filter((scope) => scope !== 'events:read');
    const { key: reader } = await bench.key('PRO', { account: key.account, scopes });
    const { shortCode } = await bench.link(key.key);
    await console.signIn(reader);
    await page.getByRole('heading', { name: 'This month' }).waitFor();
    expect(await section().count()).to.equal(0);
    await show(`/links/${shortCode}`);
    await page.locator('.plot canvas').waitFor();
    expect(await section().count()).to.equal(0);
    expect(streams.size).to.equal(0);
  });
});
