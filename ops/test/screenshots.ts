/**
 * `npm run screenshots -- [FOLDER]`: pictures of every page of the console, of a product with a few links and visits,
 * in the light, in the dark, and on a telephone. Look at them after a change of the styles.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { launchBrowser } from './support/browser.js';
import { openConsole, signIn, signInToOperate } from './support/console.js';
import { ask } from './support/http.js';
import { temporaryDir } from './support/process.js';
import { startProduct } from './support/product.js';

const modes = {
  light: { colorScheme: 'light', viewport: { width: 1_280, height: 860 } },
  dark: { colorScheme: 'dark', viewport: { width: 1_280, height: 860 } },
  phone: { colorScheme: 'light', viewport: { width: 360, height: 740 } },
} as const;

const developers = {
  overview: '?compare=1',
  links: '/links',
  'new-link': '/new',
  'new-links': '/new?many',
  link: '/links/spring-sale?compare=1',
  'qr-code': '/links/spring-sale/qr',
  settings: '/links/spring-sale/settings',
  history: '/links/spring-sale/history',
  keys: '/keys',
};

const operators = {
  health: '',
  'all-keys': '/keys',
  'any-link': '/links/spring-sale',
  projections: '/projections',
  platform: '/platform',
};

const visitors = [
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36', 'en'],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1', 'de'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0', 'fr'],
] as const;

/** Public name servers, in several countries. */
const addresses = ['8.8.8.8', '193.0.14.129', '9.9.9.9', '202.12.27.33', '194.146.106.106'];

const referrers = ['https://news.example/', 'https://search.example/', 'https://www.blog.example/'];

const [folder = await temporaryDir()] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
const product = await startProduct(
  {
    env: {
      FIRST_KEY: 'none',
      SHORT_URL_HOST: 'https://go.example.com',
      TRUSTED_PROXIES: '127.0.0.1',
    },
  },
  false,
);
const browser = await launchBrowser();
try {
  const { key } = await product.createKey({ plan: 'PRO', name: 'website' });
  const headers = { Authorization: `Bearer ${key}` };
  for (const [index, alias] of ['spring-sale', 'newsletter', 'menu', 'guide', 'jobs'].entries()) {
    const body = {
      url: `https://example.com/${alias}?utm_source=linklog&utm_campaign=${alias}`,
      alias,
      ...(index % 2 === 0 && { title: `The ${alias.replace('-', ' ')}`, tags: ['print', alias] }),
      ...(index === 4 && { expiresIn: 86_400, maxClicks: 500 }),
    };
    const made = await ask(`${product.api}/v2/shorten`, { method: 'POST', headers, body });
    if (made.status !== 201) throw new Error(made.text);
    for (let visit = 0; visit < 60 / (index + 1); visit += 1) {
      const [userAgent, language] = visitors[(visit * visit) % visitors.length] ?? visitors[0];
      const Referer = referrers[(visit * (visit + 1)) % (referrers.length + 1)];
      const about = {
        'User-Agent': userAgent,
        'Accept-Language': language,
        'X-Forwarded-For': addresses[(visit * 3 + index) % addresses.length] ?? '',
      };
      const address = `${product.edge}/${alias}${visit % 4 === 0 ? '?qr' : ''}`;
      await ask(address, { headers: { ...about, ...(Referer !== undefined && { Referer }) } });
    }
  }
  for (const [mode, options] of Object.entries(modes)) {
    for (const [listener, pages] of [
      [product.api, developers],
      [product.admin, operators],
    ] as const) {
      const { page } = await openConsole(browser, listener, options);
      if (pages === developers) await signIn(page, key);
      else await signInToOperate(page, product.adminToken, 'ann');
      for (const [name, at] of Object.entries(pages)) {
        await page.goto(`${listener}/console${at}`, { waitUntil: 'networkidle' });
        await page.screenshot({ path: path.join(folder, `${name}-${mode}.png`), fullPage: true });
      }
      await page.context().close();
    }
  }
} finally {
  await browser.close();
  await product.stop();
  await product.cleanup();
}
process.stdout.write(`Pictures are in ${folder}\n`);
