import { expect } from 'chai';
import { consoleFixture, loadError } from '../support/console.js';
import type { IssuedKey } from '../support/product.js';
import { eventuallyPasses } from '../support/waiting.js';
import { destination, sharedProduct } from './harness.js';

describe('the console’s domains', () => {
  const bench = sharedProduct();
  const console = consoleFixture(bench);
  const { page, button, goTo, show, provoke } = console;
  let key: IssuedKey;
  /** A domain that only the current test uses. */
  let domain: string;

  beforeEach(async () => {
    const account = `domains-${Date.now()}`;
    domain = `go.${account}.example`;
    key = await bench.key('PRO', { account });
    await console.signIn(key.key);
  });

  const card = (name = domain) => page.getByRole('listitem').filter({ hasText: name });

  const claim = async (name = domain): Promise<void> => {
    await goTo('Domains');
    await page.getByLabel('Domain', { exact: true }).fill(name);
    await button('Claim the domain').click();
  };

  const addLink = (more: object = {}): Promise<void> =>
    eventuallyPasses(async () => {
      const { status } = await bench.shorten(key.key, { url: destination, domain, ...more });
      expect(status).to.equal(201);
    });

  /** An operator adds the domain to the account, which creates a link on it. */
  const addDomain = async (): Promise<void> => {
    const body = { domain, account: key.account };
    expect((await bench.admin('POST', '/admin/domains', body)).status).to.equal(201);
    await addLink();
  };

  /** Expects a response of the edge to a browser. */
  const expectVisit = (path: string, expected: string): Promise<void> =>
    eventuallyPasses(async () => {
      const { status, headers } = await bench.visit(path, {
        headers: { Host: domain, Accept: 'text/html' },
      });
      expect(headers.location ?? String(status)).to.equal(expected);
    });

  it('are claimed and verified; a failed verification names the cause', async () => {
    await claim();
    await card().getByText('pending').waitFor();
    const name = `_linklog.${domain}`;
    await card().getByText(name, { exact: true }).waitFor();
    const value =
      (await card()
        .getByText(/^linklog=/)
        .textContent()) ?? '';

    const verify = () => button('Verify', card()).click();
    await verify();
    await page.getByText(`The TXT record was not found: ${name} has no TXT record yet.`).waitFor();
    bench.dns.setTxt(name, 'linklog=other', '<b>second</b>');
    await verify();
    await page
      .getByText('The TXT record was not found. Found: linklog=other, <b>second</b>')
      .waitFor();
    provoke(loadError(409), loadError(409));
    bench.dns.setTxt(name, value);
    await verify();
    await card().getByText('active', { exact: true }).waitFor();
  });

  describe('with links', () => {
    it('offer the domain for a new link, whose pages address it', async () => {
      await addDomain();
      await page.reload();
      const code = `unique-${Date.now()}`;
      await goTo('New link');
      const choice = page.getByLabel('Domain');
      expect(await choice.inputValue()).to.equal('');
      await choice.selectOption(domain);
      await page.getByLabel('Destination').fill(destination);
      await page.getByLabel('Alias').fill(code);
      await button('Create the link').click();
      await page.getByText('Your link is live').waitFor();
      await expectVisit(code, destination);
      expect((await bench.visit(code)).status).to.equal(404);

      await show(`/links/${code}?domain=${domain}`);
      await page.locator('.plot svg').waitFor();
      await page.keyboard.press('w');
      await page.waitForURL(/\?domain=.*&period=7d$/);
      await goTo('QR code');
      await console.save(button('Save as PNG'));
      await page.getByAltText(`QR code of ${domain}/${code}`).waitFor();
      await goTo('Settings');
      await page.getByLabel('Title').fill('On a domain');
      await button('Save').click();
      await page.getByRole('heading', { name: 'On a domain' }).waitFor();
      await goTo('History');
      await page.getByText('Link described').waitFor();
    });
  });
});
