import { expect } from 'chai';
import { consoleFixture } from '../support/console.js';
import type { IssuedKey } from '../support/product.js';
import { sharedProduct } from './harness.js';

describe('the console’s imports', () => {
  const bench = sharedProduct();

  const console = consoleFixture(bench);
  const { page, goTo, expectAccessible } = console;
  let key: IssuedKey;
  /** Differs for each test, because codes and verdicts of destinations are shared. */
  let name: string;
  let tests = 0;

  beforeEach(async () => {
    tests += 1;
    name = `import-${tests}-${Date.now()}`;
    key = await bench.key('PRO', { account: name });
    await console.signIn(key.key);
  });

  afterEach(() => {
    bench.safeBrowsing.behaviour = 'answer';
  });

  const button = (text: string | RegExp) => page.getByRole('button', { name: text, exact: true });

  const saved = async (role: 'button' | 'link', text: string): Promise<string> =>
    (await console.save(page.getByRole(role, { name: text }))).toString();

  const fileOf = (content: string | Buffer, type = 'text/csv') => ({
    ...{ name: `${name}.csv`, mimeType: type },
    buffer: Buffer.from(content),
  });

  const choose = (content: string | Buffer): Promise<void> =>
    page.getByLabel('File').setInputFiles(fileOf(content));

  /** The text of a figure. */
  const figure = (label: string): Promise<string | null> =>
    page.locator('.figures > div', { hasText: label }).locator('dd').textContent();

  const openImports = async (): Promise<void> => {
    await goTo('Import');
    await page.getByLabel('File').waitFor();
  };

  const redirectOf = async (code: string): Promise<string | undefined> =>
    (await bench.visit(code)).headers.location;

  it('check a file, import it, and save the outcomes', async () => {
    await openImports();
    await page.getByText('This account has no imports yet.').waitFor();
    await page.getByLabel('Encoding').selectOption('utf-8');
    await choose(
      `slug;destination;title;<b>Owner</b>\n${name}-one;https://${name}.example/1;<b>One</b>;me\n` +
        `${name}-two;no URL;Two\n${name}-three;https://${name}.example/3;${'x'.repeat(201)}\n`,
    );
    await button('Check').click();
    await page.getByText('The file was checked: CSV.').waitFor();
    expect(await figure('To create')).to.equal('2');
    expect(await figure('Would fail')).to.equal('1');
    await page.getByText('Failed rows: 1 invalid.').waitFor();
    await page.getByText('Columns that are not imported: <b>Owner</b>').waitFor();
    const rows = page.getByRole('region', { name: 'Rows that failed' }).locator('tbody tr');
    expect(await rows.allTextContents()).to.have.length(2);
    expect(await rows.first().textContent()).to.match(
      /^3.*-two.*invalid.*does not start with http/,
    );
    expect(await rows.last().textContent()).to.include('The title was cut to 200 characters.');
    expect(await redirectOf(`${name}-one`)).to.equal(undefined);
    await expectAccessible('the check');

    await button('Import 2 links').click();
    await page.waitForURL(/\/console\/imports\/[0-9a-f-]{36}\?rows=3$/);
    await page.getByText('The import has ended: CSV.').waitFor();
    expect(await figure('Created')).to.equal('2');
    expect(await figure('Failed')).to.equal('1');
    await expectAccessible('the import');
    expect(await redirectOf(`${name}-one`)).to.equal(`https://${name}.example/1`);
    const outcomes = (await saved('link', 'Download outcomes')).trimEnd().split('\n');
    expect(outcomes.map((line) => (JSON.parse(line) as { outcome: string }).outcome)).to.deep.equal(
      ['created', 'invalid', 'created'],
    );
    await goTo('Import a file, and all imports');
    const listed = page.getByRole('region', { name: 'Table of imports' }).locator('tbody tr');
    await listed.first().waitFor();
    expect(await listed.allTextContents()).to.have.length(2);
    expect(await listed.first().textContent()).to.match(/CSVdone 201$/);
    expect(await listed.last().textContent()).to.match(/CSVdone check201$/);
  });

  it('stop a running check and a running import, after the page was left and opened again', async () => {
    bench.safeBrowsing.behaviour = 'fail';
    await openImports();
    const file = `code,url\n${name},https://${name}.example/\n`;
    await choose(file);
    await button('Check').click();
    await page.getByText('The file is being checked: CSV.').waitFor();
    await expectAccessible('running');
    await button('Stop').click();
    await page.getByText('The check was stopped.').waitFor();
    await button(/^Import/).waitFor({ state: 'detached' });

    const headers = { 'Content-Type': 'text/csv' };
    const started = await bench.api('/v2/imports', key.key, {
      method: 'POST',
      body: file,
      headers,
    });
    expect(started.status, started.text).to.equal(202);
    await goTo('Links');
    await goTo('Import');
    await page.locator('tr', { hasText: 'running' }).getByRole('link').click();
    await page.getByText('The import is running: CSV.').waitFor();
    await page.reload();
    await page.getByText('0 rows so far').waitFor();
    await expectAccessible('the page of the import');
    await button('Stop').click();
    await page.getByText('The import was stopped. Its links stay.').waitFor();
    expect(await redirectOf(name)).to.equal(undefined);
  });
});
