import { expect } from 'chai';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { scopeNames } from '../../../schemas/scopes.js';
import { browserFixture, safeBrowsingFixture } from '../support/fixtures.js';
import {
  faultsInAllModes,
  loadError,
  openConsole,
  signIn,
  type ConsolePage,
} from '../support/console.js';
import { temporaryDir } from '../support/process.js';
import type { IssuedKey } from '../support/product.js';
import { Bench, destination } from './harness.js';

const maxBytes = 1_000_000;

describe('the console’s imports', () => {
  const bench = new Bench();
  const browser = browserFixture();
  const safety = safeBrowsingFixture();
  let folder: string;
  let opened: ConsolePage;
  let page: Page;
  let key: IssuedKey;
  /** Differs for each test, because codes and verdicts of destinations are shared. */
  let name: string;
  let tests = 0;
  /** The faults that a test expects. */
  let provoked: string[];

  before('start the product', async () => {
    folder = await temporaryDir();
    await bench.start({
      SAFE_BROWSING_API_KEY: 'a-key',
      SAFE_BROWSING_URL: safety.url,
      IMPORT_MAX_BYTES: String(maxBytes),
    });
  });
  after('stop the product', async () => {
    try {
      await bench.end();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  beforeEach(async () => {
    tests += 1;
    name = `import-${tests}`;
    safety.behaviour = 'answer';
    key = await bench.key('PRO', { account: name });
    opened = await openConsole(browser, bench.product.api, { acceptDownloads: true });
    ({ page } = opened);
    provoked = [];
  });

  afterEach(async () => {
    await page.context().close();
    expect(opened.faults).to.deep.equal(provoked);
  });

  const goTo = (text: string): Promise<void> =>
    page.getByRole('link', { name: text, exact: true }).first().click();

  const button = (text: string | RegExp) => page.getByRole('button', { name: text, exact: true });

  const saved = async (role: 'button' | 'link', text: string): Promise<string> => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole(role, { name: text }).click(),
    ]);
    return readFile(await download.path(), 'utf8');
  };

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
    await signIn(page, key.key);
    await goTo('Import');
    await page.getByLabel('File').waitFor();
  };

  const redirectOf = async (code: string): Promise<string | undefined> =>
    (await bench.visit(code)).headers.location;

  it('check a file, import it, and save the outcomes', async () => {
    await openImports();
    await page.getByText('This account has no imports yet.').waitFor();
    expect(await faultsInAllModes(page), 'the form').to.deep.equal([]);
    await choose(
      `slug;destination;title\n${name}-one;https://${name}.example/1;<b>One</b>\n` +
        `${name}-two;no URL;Two\n${name}-three;https://${name}.example/3;${'x'.repeat(201)}\n`,
    );
    await button('Check').click();
    await page.getByText('The file was checked: CSV.').waitFor();
    expect(await figure('To create')).to.equal('2');
    expect(await figure('Would fail')).to.equal('1');
    await page.getByText('Failed rows: 1 invalid.').waitFor();
    const rows = page.getByRole('region', { name: 'Rows that failed' }).locator('tbody tr');
    expect(await rows.allTextContents()).to.have.length(2);
    expect(await rows.first().textContent()).to.match(
      /^3.*-two.*invalid.*does not start with http/,
    );
    expect(await rows.last().textContent()).to.include('The title was cut to 200 characters.');
    expect(await redirectOf(`${name}-one`)).to.equal(undefined);
    expect(await faultsInAllModes(page), 'the check').to.deep.equal([]);

    await button('Import 2 links').click();
    await page.waitForURL(/\/console\/imports\/[0-9a-f-]{36}\?rows=3$/);
    await page.getByText('The import has ended: CSV.').waitFor();
    expect(await figure('Created')).to.equal('2');
    expect(await figure('Failed')).to.equal('1');
    expect(await faultsInAllModes(page), 'the import').to.deep.equal([]);
    expect(await redirectOf(`${name}-one`)).to.equal(`https://${name}.example/1`);
    const outcomes = (await saved('link', 'Download outcomes')).trimEnd().split('\n');
    expect(outcomes.map((line) => (JSON.parse(line) as { outcome: string }).outcome)).to.deep.equal(
      ['created', 'invalid', 'created'],
    );
    const table = await saved('button', 'Save these rows as CSV');
    expect(table).to.match(
      new RegExp(`^\ufeffrow,code,url,outcome,message\r\n3,${name}-two,no URL,`),
    );

    await goTo('Import a file, and all imports');
    const listed = page.getByRole('region', { name: 'Table of imports' }).locator('tbody tr');
    await listed.first().waitFor();
    expect(await listed.allTextContents()).to.have.length(2);
    expect(await listed.first().textContent()).to.match(/CSVdone 201$/);
    expect(await listed.last().textContent()).to.match(/CSVdone check201$/);
    expect(await faultsInAllModes(page), 'the list').to.deep.equal([]);
  });

  it('check a file with the options of the form', async () => {
    await bench.link(key.key, { alias: `${name}-taken`, url: destination });
    await openImports();
    await choose(gzipSync(`code,url,clicks\n${name}-taken,https://${name}.example/,1\n`));
    await page.getByLabel('Format').selectOption('CSV');
    await page.getByLabel('If another link has the code').selectOption('Import nothing');
    await button('Check').click();
    await page.getByText('1 row conflicts with existing links. No link was created.').waitFor();
    expect(await button(/^Import/).count()).to.equal(0);
    await page.getByLabel('If another link has the code').selectOption('suffix');
    await page.getByText('The import would fail.').waitFor({ state: 'detached' });
    const zones = page.getByLabel('Time zone of times without one');
    expect(await zones.inputValue()).to.equal('UTC');
    await zones.focus();
    await zones.selectOption('Asia/Tokyo');
    await button('Check').click();
    await page.getByText(`The code ${name}-taken was taken.`).waitFor();
    await button('Import one link').click();
    await page.getByText('The import has ended: CSV.').waitFor();
    expect(await redirectOf(`${name}-taken-2`)).to.equal(`https://${name}.example/`);
  });

  it('accept a dropped file, and offer visits if the format has them', async () => {
    await openImports();
    const yourls = [
      'CREATE TABLE `yourls_url` (`keyword` varchar(100), `url` text, `title` text, `timestamp` timestamp, `ip` varchar(41), `clicks` int);',
      `INSERT INTO \`yourls_url\` VALUES ('${name}', 'https://${name}.example/', 'T', '2024-01-02 03:04:05', '', 1);`,
      'CREATE TABLE `yourls_log` (`click_id` int, `click_time` datetime, `shorturl` varchar(100), `referrer` varchar(200), `user_agent` varchar(255), `ip_address` varchar(41), `country_code` char(2));',
      `INSERT INTO \`yourls_log\` VALUES (1, '2024-02-02 03:04:05', '${name}', 'direct', 'x', '192.0.2.1', 'DE');`,
    ].join('\n');
    const transfer = await page.evaluateHandle(`(() => {
      const data = new DataTransfer();
      data.items.add(new File([${JSON.stringify(yourls)}], 'dump.sql'));
      return data;
    })()`);
    await page.getByRole('form', { name: 'New import' }).dispatchEvent('drop', {
      dataTransfer: transfer,
    });
    await button('Check').click();
    await page.getByText('The file was checked: YOURLS (SQL dump).').waitFor();
    await page.getByLabel('Import visits too').check();
    await page.getByLabel('Time zone of visits').waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await button('Import one link').click();
    await page.getByText('The import has ended: YOURLS (SQL dump).').waitFor();
    expect(await figure('Visits')).to.equal('1');
  });

  it('show why a file is rejected', async () => {
    await openImports();
    await choose('no columns at all\n');
    await button('Check').click();
    await page.getByText('The format of the file was not recognised.').waitFor();
    expect(await faultsInAllModes(page), 'the format').to.deep.equal([]);
    provoked.push(loadError(400));

    await choose(Buffer.alloc(20 * maxBytes, 'x'));
    await button('Check').click();
    await page.getByText('Request body is too large').waitFor();
    provoked.push(loadError(413));

    const file = path.join(folder, 'changed.csv');
    await writeFile(file, `code,url\n${name},${destination}\n`);
    await page.getByLabel('File').setInputFiles(file);
    await rm(file);
    await button('Check').click();
    await page.getByText('The file was changed or cannot be read.').waitFor();
    provoked.push('Failed to load resource: net::ERR_FILE_NOT_FOUND');
  });

  it('stop a running check and a running import, after the page was left and opened again', async () => {
    safety.behaviour = 'fail';
    await openImports();
    const file = `code,url\n${name},https://${name}.example/\n`;
    await choose(file);
    await button('Check').click();
    await page.getByText('The file is being checked: CSV.').waitFor();
    expect(await faultsInAllModes(page), 'running').to.deep.equal([]);
    await button('Stop').click();
    await page.getByText('The check was stopped.').waitFor();
    expect(await button(/^Import/).count()).to.equal(0);

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
    expect(await faultsInAllModes(page), 'the page of the import').to.deep.equal([]);
    await button('Stop').click();
    await page.getByText('The import was stopped. Its links stay.').waitFor();
    expect(await redirectOf(name)).to.equal(undefined);
  });

  it('need the scope links:import', async () => {
    const scopes = scopeNames.filter((scope) => scope !== 'links:import');
    const { key: reader } = await bench.key('PRO', { account: name, scopes });
    await signIn(page, reader);
    expect(await page.getByRole('link', { name: 'Import', exact: true }).count()).to.equal(0);
    await page.goto(`${bench.product.api}/console/imports`);
    await page.getByText('This needs the scope “Import links from files”').waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await page.goto(`${bench.product.api}/console/imports/none`);
    await page.getByText('This needs the scope “Import links from files”').waitFor();
  });

  it('need the origin of the console', async () => {
    await openImports();
    const [cookie] = await page.context().cookies();
    const headers = { Cookie: `${cookie?.name}=${cookie?.value}`, Origin: 'https://evil.example' };
    const body = `code,url\n${name},${destination}\n`;
    const refused = await bench.api('/console/v2/imports', null, { method: 'POST', body, headers });
    expect(refused.status).to.equal(403);
    expect(refused.text).to.include('Origin must be that of the console');
    const list = await bench.api('/v2/imports', key.key);
    expect(list.json()).to.deep.equal({ imports: [] });
  });

  it('show the columns of pasted text before they create many links', async () => {
    await signIn(page, key.key);
    await goTo('New link');
    await goTo('Many links');
    const lines = [
      ['Target', 'Keyword', 'Title', 'Tags', 'Clicks'],
      [`https://${name}.example/1`, `${name}-one`, 'One', 'x, y', '3'],
      [`https://${name}.example/2`, '', '', '', ''],
      ['', `${name}-three`, '', '', ''],
    ];
    await page.getByLabel('Destinations').fill(lines.map((line) => line.join('\t')).join('\n'));
    await page.getByText('Columns are separated by tabs. Not used: Clicks.').waitFor();
    const preview = page.getByRole('region', { name: 'Preview' }).locator('tbody tr');
    expect(await preview.allTextContents()).to.deep.equal([
      `2https://${name}.example/1${name}-oneOnex, y`,
      `3https://${name}.example/2generated`,
      '4The line has no URL. It is skipped.',
    ]);
    expect(await faultsInAllModes(page), 'the preview').to.deep.equal([]);
    await page.getByLabel('Tags').fill('all');
    await button('Create 2 links').click();
    await page.getByText('2 of 2 created').waitFor();
    const details = await bench.api(`/v2/links/${name}-one`, key.key);
    expect(details.json()).to.deep.include({
      ...{ url: `https://${name}.example/1`, title: 'One', tags: ['x', 'y', 'all'] },
    });

    await page.getByLabel('Destinations').fill(`https://${name}.example/a,bcd`);
    await page.getByText('Columns are separated by commas.').waitFor();
    await page.getByLabel('Each line is one URL').check();
    await page.getByText('Columns with').waitFor({ state: 'detached' });
    expect(await preview.first().textContent()).to.equal(`1https://${name}.example/a,bcdgenerated`);
  });
});
