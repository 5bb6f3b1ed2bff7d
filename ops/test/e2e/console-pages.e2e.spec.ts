import { expect } from 'chai';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { projectFile } from '../../platform/files/project-file.js';
import { consoleFixture, loadError } from '../support/console.js';
import { destination, keyFixture, sharedProduct } from './harness.js';

// The second stage opens every page: console-*.more.spec.ts.

describe('the console’s scripts', () => {
  const client = projectFile('dist', 'command-api', 'console', 'client');
  const sizeOf = async (names: readonly string[]): Promise<number> => {
    const files = names.map((name) => readFile(path.join(client, 'assets', name)));
    return (await Promise.all(files)).reduce((sum, file) => sum + gzipSync(file).length, 0);
  };

  it('have at most 40 KB, compressed, on the first page, and 100 KB in a language of a console', async () => {
    const names = await readdir(path.join(client, 'assets'));
    const scripts = names.filter((name) => name.endsWith('.js'));
    const page = await readFile(path.join(client, 'index.html'), 'utf8');
    const first = [...page.matchAll(/[\w-]+\.js(?=")/g)].map(([name]) => name);
    const sizes = async (start: string): Promise<readonly number[]> =>
      Promise.all(
        scripts.filter((name) => name.startsWith(start)).map(async (name) => sizeOf([name])),
      );
    const [texts, later] = [await sizes('texts-'), await sizes('later-texts-')];
    expect([first.length, texts.length, later.length]).to.deep.equal([2, 2, 2]);
    // A browser loads the texts of one language.
    expect((await sizeOf(first)) + Math.max(...texts)).to.be.within(1, 40_000);
    const otherTexts = Math.min(...texts) + Math.min(...later);
    for (const [title, ofOtherConsole] of [
      ['developers', /^(?:operators|pages)-/],
      ['operators', /^(?:index|link-pages|later-pages|many-links)-/],
    ] as const) {
      const loaded = scripts.filter((name) => !ofOtherConsole.test(name));
      expect(loaded, title).to.have.length.below(scripts.length);
      expect((await sizeOf(loaded)) - otherTexts, title).to.be.within(60_000, 100_000);
    }
  });
});

describe('the console', () => {
  const bench = sharedProduct();
  const key = keyFixture(bench, 'PRO', { account: 'console-in-a-browser' });
  const console = consoleFixture(bench);
  const { page, button, goTo } = console;

  it('is signed in to by keyboard alone, and does not store the key', async () => {
    await page.getByLabel('API key').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type('ll_wrong');
    await page.keyboard.press('Enter');
    await page.getByText('Invalid or inactive API key.').waitFor();
    console.provoke(loadError(401));
    await page.getByLabel('API key').fill('');
    await page.getByLabel('API key').focus();
    await page.keyboard.type(key.key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();

    const stored = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
    );
    const cookies = JSON.stringify(await page.context().cookies());
    expect(stored + cookies).not.to.include(key.key);
    expect(stored).to.match(/^\[\{\},\{\},"",/);

    await button('Sign out').click();
    await page.getByLabel('API key').waitFor();
    expect(await page.context().cookies()).to.deep.equal([]);
  });

  it('has its own font of at most 60 KB, with the text of its license', async () => {
    await page.getByLabel('API key').waitFor();
    await page.evaluate('document.fonts.ready.then(() => undefined)');
    const fonts = await page.evaluate<string[]>(
      '[...document.fonts].map(({ family, status }) => `${family} ${status}`)',
    );
    expect(fonts).to.deep.equal(['Inter loaded']);
    const sizes = await page.evaluate<number[]>(
      `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.woff2'))
        .map(({ decodedBodySize }) => decodedBodySize)`,
    );
    expect(sizes).to.have.length(1);
    expect(sizes[0]).to.be.within(1, 60_000);
    const license = await fetch(`${bench.product.api}/console/inter-license.txt`);
    expect(await license.text()).to.include('SIL Open Font License');
  });

  it('creates a link that redirects immediately', async () => {
    await console.signIn(key.key);
    await goTo('New link');
    await page.getByText('More options').click();
    const texts = { title: 'عنوان 🎉', note: 'two\nlines', tags: ['sale', 'وسم'] };
    await page.getByLabel('Title').fill(texts.title);
    await page.getByLabel('Tags').fill(texts.tags.join(', '));
    await page.getByLabel('Note').fill(texts.note);
    await page.getByLabel('Destination').fill(destination);
    await page.getByLabel('Alias').fill('from-the-console');
    await button('Create the link').click();
    await page.getByText('Your link is live').waitFor();
    await console.expectAccessible();
    const response = await bench.visit('from-the-console');
    expect(response.headers.location).to.equal(destination);
    const details = await bench.api('/v2/links/from-the-console', key.key);
    expect(details.json()).to.deep.include(texts);
    await goTo('Links');
    await console.expectListed(1);
  });
});
