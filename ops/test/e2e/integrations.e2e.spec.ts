import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { parse } from 'yaml';
import { codeIn } from '../support/documented-code.js';
import { folderFixture } from '../support/fixtures.js';
import { sendRequest } from '../support/http.js';
import { needs } from '../support/needs.js';
import { destination, keyFixture, sharedProduct, type Link } from './harness.js';

const documentedApi = 'https://links.example.com';

describe('integrations with other programs', () => {
  const bench = sharedProduct();
  const folder = folderFixture();
  const issued = keyFixture(bench, 'PRO', { account: 'integrations', scopes: ['links:create'] });

  const ownApi = (code: string): string => code.replaceAll(documentedApi, bench.product.api);

  /** Runs code of integrations.md against the product. @returns what it prints */
  const run = async (code: string, env: Readonly<Record<string, string>> = {}): Promise<string> => {
    const options = { env: { ...process.env, ...env }, cwd: folder.path };
    const { stdout } = await promisify(execFile)('bash', ['-euc', ownApi(code)], options);
    return stdout.trim();
  };

  const expectLink = (shortUrl: string): void => {
    expect(shortUrl).to.match(/^http:\/\/localhost:\d+\/[0-9A-Za-z]{8}$/);
  };

  it('serve a file for ShareX without a key, whose request creates a link', async () => {
    const url = `${bench.product.api}/integrations/sharex.sxcu`;
    const { status, headers, text } = await sendRequest(url);
    expect(status).to.equal(200);
    expect(headers['content-disposition']).to.equal('attachment; filename="linklog.sxcu"');
    expect(text).not.to.match(/ll_/);
    const file = JSON.parse(text) as Readonly<Record<string, string>> & {
      readonly Headers: Readonly<Record<string, string>>;
    };
    expect(file).to.include({ DestinationType: 'URLShortener', Body: 'JSON' });
    const { Authorization = '' } = file.Headers;
    // What ShareX does with the file.
    const response = await sendRequest(file['RequestURL'] ?? '', {
      method: file['RequestMethod'] ?? '',
      headers: {
        Authorization: Authorization.replace('YOUR_API_KEY', issued.key),
        'Content-Type': 'application/json',
      },
      body: file['Data']?.replace('{input}', destination),
    });
    const [, field = ''] = /^\{json:(\w+)\}$/.exec(file['URL'] ?? '') ?? [];
    expectLink((response.json() as Readonly<Record<string, string>>)[field] ?? '');
    expect((await sendRequest(url, { method: 'POST' })).status).to.equal(405);
    const proxied = await sendRequest(url, {
      headers: { 'X-Forwarded-Host': 'links.example', 'X-Forwarded-Proto': 'https' },
    });
    expect(proxied.json()).to.include({ RequestURL: 'https://links.example/v2/shorten' });
  });

  it('have a bookmarklet that opens the form of the console', () => {
    const opened: string[] = [];
    const page = { href: 'https://example.com/a?b=c&d#e', title: 'A & B' };
    runInNewContext(codeIn('integrations.md', 'js').replace('javascript:', ''), {
      ...{ URLSearchParams, location: page, document: page },
      open: (url: string) => opened.push(url),
    });
    const { origin, pathname, searchParams } = new URL(opened[0] ?? '');
    expect(origin + pathname).to.equal(`${documentedApi}/console/new`);
    expect(Object.fromEntries(searchParams)).to.deep.equal({ url: page.href, title: page.title });
  });

  it('have a function for curl that prints the short URL, or the message of an error', async () => {
    needs('jq');
    await promisify(execFile)('mkdir', ['-p', path.join(folder.path, '.config')]);
    const header = `Authorization: Bearer ${issued.key}\n`;
    await writeFile(path.join(folder.path, '.config', 'linklog-key'), header);
    const shorten = codeIn('integrations.md', 'sh', 'curl');
    const home = { HOME: folder.path };
    expectLink(await run(`${shorten}\nshorten 'https://example.com/?a="b"&c'`, home));
    expect(await run(`${shorten}\nshorten nonsense`, home)).to.equal('Please provide a valid URL');
  });

  it('have a step of GitHub Actions that creates one link, also if it runs again', async () => {
    needs('jq');
    const [step] = parse(codeIn('integrations.md', 'yaml')) as [
      { readonly run: string; readonly env: Readonly<Record<string, string>> },
    ];
    const summary = path.join(folder.path, 'summary');
    const env = {
      ...{ LINKLOG_KEY: issued.key, RELEASE_URL: `${destination}&release` },
      ...{ GITHUB_RUN_ID: '1234', GITHUB_STEP_SUMMARY: summary },
    };
    expect(Object.keys(env)).to.include.members(Object.keys(step.env));
    await run(step.run, env);
    await run(step.run, env);
    const [first = '', second] = (await readFile(summary, 'utf8')).trim().split('\n');
    expectLink(first);
    expect(second).to.equal(first);
  });

  it('have a request for n8n that creates a link', async () => {
    const command = codeIn('integrations.md', 'sh', 'n8n').replace('YOUR_API_KEY', issued.key);
    expectLink((JSON.parse(await run(command)) as Link).shortUrl);
  });
});
