import { expect } from 'chai';
import { consoleFixture, loadError } from '../support/console.js';
import { eventNamesBy } from '../support/ledger-events.js';
import { eventually } from '../support/waiting.js';
import { destination, sharedProduct } from './harness.js';

describe('the operators’ console', () => {
  const bench = sharedProduct();
  const console = consoleFixture(bench);
  const { page, button, goTo, provoke, expectAccessible } = console;

  beforeEach(() => console.openAsOperator());

  /** Events of a subject whose actor is the operator. */
  const done = (subject: string) => eventNamesBy(bench.product, 'ann', subject);

  /** Events of the platform that `work` causes. */
  const doneToPlatform = async (work: () => Promise<void>): Promise<readonly string[]> => {
    const before = await done('platform');
    await work();
    return (await done('platform')).slice(before.length);
  };

  it('filters changes by account, actor and kind, with the values before and after', async () => {
    const { id, name, account } = await bench.key('PRO', { account: `changes-${Date.now()}` });
    await bench.admin('PATCH', `/admin/keys/${id}`, { name: 'Altered' }, { 'X-Actor': 'maria' });
    await goTo('Changes');
    await page.getByLabel('Account').fill(account);
    await button('Search').click();
    await page.getByText('API key created').and(page.locator('strong')).first().waitFor();
    await page.getByLabel('By (name or ID)').fill('maria');
    await page.getByLabel('Kind of change').selectOption('API key changed');
    await button('Search').click();
    await page.waitForURL(/account=changes-\d+&actor=maria&type=ApiKeyChanged$/);
    const entries = page.locator('.history li');
    await entries.getByText(`${name} → Altered`).waitFor();
    expect(await entries.locator('dt').allTextContents()).to.deep.equal(['Name']);
    await expectAccessible();
    await page.goBack();
    await page.getByText('API key created').and(page.locator('strong')).first().waitFor();
    expect(await page.getByLabel('By (name or ID)').inputValue()).to.equal('');
    expect(await page.getByLabel('Account').inputValue()).to.equal(account);
  });

  it('creates, changes, deactivates and revokes a key', async () => {
    await goTo('Keys');
    await button('New key').click();
    await expectAccessible();
    await page.getByLabel('Name', { exact: true }).fill('<b>an Arabic key</b> مفتاح');
    await page.getByLabel('Plan', { exact: true }).selectOption('HOBBY');
    await page.getByLabel('Expires', { exact: true }).selectOption('86400');
    await page.getByLabel('Manage keys').uncheck();
    await button('Create the key').click();
    const secretDialog = page.getByRole('dialog', { name: 'Keep this key' });
    const secret = (await secretDialog.locator('code').textContent()) ?? '';
    await expectAccessible();
    await button('I have kept it').click();
    expect((await bench.api('/v2/usage', secret)).json()).to.include({ plan: 'HOBBY' });
    expect((await bench.api('/v2/keys', secret)).status).to.equal(403);

    const row = page.getByRole('group', { name: 'an Arabic key' });
    await button('Change plan', row).click();
    await page.getByRole('dialog').getByLabel('Plan').focus();
    await page.keyboard.type('PRO');
    const limits = page.getByRole('dialog').getByRole('row', { name: 'Calls per minute' });
    await limits.getByText('5,000', { exact: true }).waitFor();
    expect(await limits.getByRole('cell').allTextContents()).to.deep.equal(['300', '5,000']);
    await expectAccessible();
    expect((await bench.api('/v2/usage', secret)).json()).to.include({ plan: 'HOBBY' });
    await button('Save', page.getByRole('dialog')).click();
    await eventually('the plan has changed', async () =>
      (await bench.api('/v2/usage', secret)).text.includes('PRO'),
    );

    await button('Change', row).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('renamed');
    await dialog.getByLabel('Expires').selectOption('');
    await dialog.getByLabel('Manage keys').check();
    await expectAccessible();
    await button('Save', dialog).click();
    const renamed = page.getByRole('group', { name: 'renamed' });
    await renamed.waitFor();
    const own = await bench.api('/v2/keys', secret);
    expect(own.status, own.text).to.equal(200);
    const { keys } = own.json() as { keys: readonly { readonly id: string }[] };
    expect(keys[0]).to.deep.include({ name: 'renamed', expiresAt: null });

    for (const [name, status] of [
      ['Switch off', 401],
      ['Switch on', 200],
    ] as const) {
      await renamed.getByRole('button', { name }).click();
      if (status === 401) await dialog.getByRole('button', { name }).click();
      await eventually(name, async () => (await bench.api('/v2/usage', secret)).status === status);
    }

    await button('Revoke', renamed).click();
    await button('Revoke', dialog).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await bench.api('/v2/usage', secret)).status).to.equal(401);
    expect(await done(keys[0]?.id ?? '')).to.deep.equal([
      ...['ApiKeyCreated', 'ApiKeyChanged', 'ApiKeyChanged', 'ApiKeyChanged', 'ApiKeyChanged'],
      'ApiKeyRevoked',
    ]);
  });

  it('blocks and unblocks a link, with the operator as actor', async () => {
    const { key } = await bench.key('PRO', { account: 'a-customer' });
    const { shortCode } = await bench.link(key);
    await goTo('Links');
    await page.getByText('Account by account, the newest links of each first.').waitFor();
    await page.getByLabel('Short code or short URL').fill(` https://sho.rt/${shortCode}+`);
    await button('Show the link').click();
    // sho.rt is no domain of an account.
    provoke(loadError(404));
    await page.getByText('Link created').waitFor();
    await page.getByText('a-customer').first().waitFor();

    await page.getByLabel('Reason for the block').fill('<script>alert(1)</script>');
    await button('Block').click();
    await page.getByText('Link blocked').waitFor();
    await eventually(
      'the link is blocked',
      async () => (await bench.visit(shortCode)).status === 410,
    );
    expect(await page.getByText('by ann').count()).to.equal(1);
    await expectAccessible();

    await page.getByLabel('Reason for the end of the block').fill('A mistake');
    await button('Unblock').click();
    await page.getByText('Link unblocked').waitFor();
    await eventually(
      'the link redirects',
      async () => (await bench.visit(shortCode)).headers.location === destination,
    );
    expect(await done(shortCode)).to.deep.equal(['LinkBlocked', 'LinkUnblocked']);
    await goTo('Changes');
    await page.getByLabel('Kind of change').selectOption('Link unblocked');
    await button('Search').click();
    await page.locator('.history').getByRole('link', { name: shortCode }).first().click();
    await page.waitForURL(new RegExp(`/links/${shortCode}$`));
  });

  it('blocks and unblocks one of the most clicked links from its row, with a reason', async () => {
    const account = `abuse-${Date.now()}`;
    const { key } = await bench.key('PRO', { account });
    const { shortCode } = await bench.link(key);
    for (let visits = 0; visits < 3; visits += 1) await bench.visit(shortCode);
    await eventually('the clicks are counted', async () =>
      new RegExp(`"${shortCode}"[^}]*"clicks":3`).test(
        (await bench.admin('GET', '/admin/abuse?period=hour&limit=100')).text,
      ),
    );
    await goTo('Abuse');
    await button('Last hour').click();
    await page.waitForURL(/period=hour$/);
    await page.getByRole('button', { name: 'Last hour', pressed: true }).waitFor();
    await page.getByRole('heading', { name: 'Most clicked links: Last hour' }).waitFor();
    const links = page.getByRole('region', { name: 'Most clicked links' });
    const sums = page.getByRole('region', { name: 'Accounts of these links' });
    const cells = sums.getByRole('row').filter({ hasText: account }).getByRole('cell');
    expect(await cells.allTextContents()).to.deep.equal([account, '1', '3', 'new']);
    const row = links.getByRole('row').filter({ hasText: shortCode });
    await expectAccessible();
    await row.getByRole('button', { name: `Block … ${shortCode}` }).click();
    const dialog = page.getByRole('dialog', { name: `Block ${shortCode}?` });
    await button('Block', dialog).click();
    await dialog.getByLabel('Reason for the block').and(page.locator(':focus')).waitFor();
    await dialog.getByLabel('Reason for the block').fill(' ');
    await button('Block', dialog).click();
    await dialog.locator('input:invalid').waitFor();
    expect(await done(shortCode)).to.deep.equal([]);
    await dialog.getByLabel('Reason for the block').fill('phishing');
    await expectAccessible();
    await button('Block', dialog).click();
    await row.getByText('blocked').waitFor();
    await page.getByText(`${shortCode} is blocked.`).waitFor();
    await row.getByRole('button', { name: `Unblock … ${shortCode}` }).click();
    const end = page.getByRole('dialog', { name: `Unblock ${shortCode}?` });
    await end.getByText('Required. It is recorded in the history.').waitFor();
    await end.getByLabel('Reason for the end of the block').fill('a mistake');
    await expectAccessible();
    await button('Unblock', end).click();
    await row.getByText('active').waitFor();
    await page.getByText(`${shortCode} is no longer blocked.`).waitFor();
    expect(await done(shortCode)).to.deep.equal(['LinkBlocked', 'LinkUnblocked']);
    const accounts = page.getByRole('region', { name: 'Newest accounts' });
    await accounts.getByRole('link', { name: account }).click();
    await page.waitForURL(new RegExp(`account=${account}&sort=clicks`));
  });

  it('deletes and restores a link', async () => {
    const { key } = await bench.key('PRO', { account: 'a-customer' });
    const { shortCode } = await bench.link(key);
    await console.show(`/links/${shortCode}/settings`);
    await button('Delete').click();
    await button('Delete', page.getByRole('dialog')).click();
    await button('Restore').waitFor();
    await expectAccessible();
    await button('Restore').click();
    await button('Disable').waitFor();
    await eventually(
      'the link redirects',
      async () => (await bench.visit(shortCode)).headers.location === destination,
    );
    expect(await done(shortCode)).to.deep.equal(['LinkDeleted', 'LinkRestored']);
  });

  it('switches features and maintenance, with the operator as actor', async () => {
    const { key } = await bench.key('PRO');
    await goTo('Platform');
    const status = async () => (await bench.shorten(key, { url: destination })).status;
    const switched = await doneToPlatform(async () => {
      const feature = page.getByRole('group', { name: 'New links' });
      const dialog = page.getByRole('dialog');
      await button('Switch off', feature).click();
      expect(await status()).to.equal(201);
      await expectAccessible();
      await button('Switch off', dialog).click();
      await eventually('the feature is off', async () => (await status()) === 400);
      await button('Switch on', feature).click();
      await button('Switch on', dialog).click();
      await eventually('the feature is on', async () => (await status()) === 201);
      await button('Switch maintenance on').click();
      await button('Cancel', dialog).click();
      await dialog.waitFor({ state: 'detached' });
      await button('Switch maintenance on').click();
      await dialog.getByLabel('Type maintenance to confirm').fill('maintenance');
      await expectAccessible();
      await button('Switch maintenance on', dialog).click();
      await eventually('maintenance is on', async () => (await status()) === 503);
      await page.getByText(/^Maintenance since .*, switched on by ann:/).waitFor();
      await expectAccessible();
      await goTo('Health');
      const state = page.locator('.heading .badge');
      await state.waitFor();
      expect(await state.textContent()).to.equal('Maintenance');
      await expectAccessible();
      await goTo('Platform');
      await button('Switch maintenance off').click();
      await eventually('maintenance is off', async () => (await status()) === 201);
      await page.getByText(/^Maintenance since/).waitFor({ state: 'detached' });
    });
    expect(switched).to.deep.equal([
      ...['FeatureSwitched', 'FeatureSwitched'],
      ...['MaintenanceSwitched', 'MaintenanceSwitched'],
    ]);
  });

  it('names each state of a node', async () => {
    const health = '**/health/ready';
    for (const [change, status, name] of [
      [{}, 200, 'All systems operational'],
      [{ dependencies: { redis: { state: 'down' } } }, 200, 'Works, with faults'],
      [{ status: 'draining' }, 503, 'This node is stopping'],
      [{ status: 'fail' }, 503, 'Some systems have failed'],
    ] as const) {
      await page.route(health, async (route) => {
        const response = await route.fetch();
        const report = (await response.json()) as object;
        await route.fulfill({
          status,
          json: { ...report, dependencies: {}, projections: [], ...change },
        });
      });
      if (status === 503) provoke(loadError(503));
      await console.show('');
      await page.locator('.heading .badge', { hasText: name }).waitFor();
      await page.unroute(health);
    }
  });

  it('shows the projections with dead letters first, then those far behind', async () => {
    const projection = { lag: 0, deadLetters: 0, parked: 0, running: null, last: null };
    const projections = [
      { ...projection, name: 'current' },
      { ...projection, name: 'busy', lag: 999 },
      { ...projection, name: 'late', lag: 1_000 },
      { ...projection, name: 'later', lag: 2_000 },
      { ...projection, name: 'broken', deadLetters: 1 },
      { ...projection, name: 'unknown', lag: null },
    ];
    const order = ['broken', 'later', 'late', 'current', 'busy', 'unknown'];
    await page.route('**/console/admin/projections', (route) =>
      route.fulfill({ json: { projections } }),
    );
    await goTo('Projections');
    const cards = page.locator('main li');
    await cards.first().waitFor();
    expect(await cards.locator('h2').allTextContents()).to.deep.equal([
      ...['broken dead letters', 'later behind', 'late behind', 'current up to date'],
      ...['busy behind', 'unknown unknown'],
    ]);
    expect(await cards.locator('.bad').allTextContents()).to.deep.equal(['1', '2,000', '1,000']);
    await page.route('**/health/ready', async (route) => {
      const response = await route.fetch();
      const report = (await response.json()) as object;
      await route.fulfill({ json: { ...report, projections } });
    });
    await goTo('Health');
    const table = page.getByRole('region', { name: 'Projections' });
    await table.getByText('broken').waitFor();
    expect(await table.locator('tbody th').allTextContents()).to.deep.equal(order);
  });

  it('looks up a reserved alias, and allows only reserved ones to accounts with a key', async () => {
    const account = `reserved-${Date.now()}`;
    await bench.key('PRO', { account });
    await goTo('Platform');
    const section = page.getByRole('region', { name: 'Reserved aliases' });
    const dialog = page.getByRole('dialog');
    const allow = async (name: string): Promise<void> => {
      await dialog.getByLabel('Account').fill(name);
      await button('Allow for an account', dialog).click();
    };
    const lookUp = async (alias: string): Promise<void> => {
      await section.getByLabel('Look up an alias').fill(alias);
      await page.keyboard.press('Enter');
    };
    await lookUp('spring-sale');
    await section.getByText('spring-sale is not reserved. Every account may use it.').waitFor();
    await lookUp('PayPal');
    await section.getByText('PayPal is reserved. No account may use it.').waitFor();
    await section.getByRole('button', { name: 'Allow for an account … PayPal' }).click();
    await allow('no account');
    const invalid = dialog.getByLabel('Account').and(page.locator(':focus'));
    expect(await invalid.getAttribute('title')).to.match(/^1 to 64 letters/);
    await allow('unknown-account');
    await dialog.getByText('The account has no key').waitFor();
    await dialog.getByLabel('Account').and(page.locator(':focus')).waitFor();
    provoke(loadError(400));
    await expectAccessible();
    await allow(account);
    await section.getByText(`${account} may use paypal now.`).waitFor();
    await section.getByRole('cell', { name: account }).waitFor();
    await section.getByRole('button', { name: 'Reserve again paypal' }).click();
    await button('Reserve again', dialog).click();
    await section.getByText('No account may use paypal any more.').waitFor();
    await section.getByText('PayPal is reserved. No account may use it.').waitFor();
    await expectAccessible();
  });

  it('shows pending claims of domains', async () => {
    const { key, account } = await bench.key('PRO', { account: `claims-${Date.now()}` });
    const domain = `${account}.example.com`;
    await bench.api('/v2/domains', key, { method: 'POST', body: { domain } });
    await goTo('Domains');
    const claim = page.getByRole('listitem').filter({ hasText: domain });
    await claim.getByText('pending').waitFor();
    await claim.getByText(`account ${account}`).waitFor();
    await claim.getByRole('button').first().waitFor({ state: 'detached' });
    await expectAccessible();
  });

  it('has keyboard shortcuts, which can be switched off', async () => {
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await dialog.waitFor();
    await expectAccessible();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('k');
    await page.waitForURL(/console\/keys$/);
    await page.keyboard.press('/');
    await page.waitForURL(/console\/links$/);
    await page.getByRole('searchbox').and(page.locator(':focus')).waitFor();
    await page.keyboard.type('g h?');
    expect(await page.getByRole('searchbox').inputValue()).to.equal('g h?');
    await button('Keyboard shortcuts').click();
    await dialog.getByLabel('Use keyboard shortcuts').uncheck();
    await button('Close').click();
    await page.keyboard.press('?');
    await dialog.waitFor({ state: 'detached' });
  });
});
