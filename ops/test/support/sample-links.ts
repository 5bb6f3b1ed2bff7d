import { createLink } from './create-links.js';
import { sendRequest } from './http.js';
import type { Product } from './product.js';

/** The environment of the product: visitors come through a trusted proxy. */
export const sampleEnv = {
  FIRST_KEY: 'none',
  SHORT_URL_HOST: 'https://go.example.com',
  TRUSTED_PROXIES: '127.0.0.1',
} as const;

/** The link with the most visits. */
export const sampleLink = 'spring-sale';

const aliases = [sampleLink, 'newsletter', 'menu', 'guide', 'jobs'];

const visitors = [
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36', 'en'],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1', 'de'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0', 'fr'],
] as const;

/** Public name servers, in several countries. */
const addresses = ['8.8.8.8', '193.0.14.129', '9.9.9.9', '202.12.27.33', '194.146.106.106'];

const referrers = ['https://news.example/', 'https://search.example/', 'https://www.blog.example/'];

/** Creates a few links, and visits them from several countries. @returns their key */
export const createSampleLinks = async (product: Product): Promise<string> => {
  const { key } = await product.createKey({ plan: 'PRO', name: 'website' });
  for (const [index, alias] of aliases.entries()) {
    const body = {
      url: `https://example.com/${alias}?utm_source=linklog&utm_campaign=${alias}`,
      alias,
      ...(index % 2 === 0 && { title: `The ${alias.replace('-', ' ')}`, tags: ['print', alias] }),
      ...(index === 4 && { expiresIn: 86_400, maxClicks: 500 }),
    };
    await createLink(product.api, key, body);
    for (let visit = 0; visit < 60 / (index + 1); visit += 1) {
      const [userAgent, language] =
        visitors[(visit * 5 + (visit >> 2)) % visitors.length] ?? visitors[0];
      const Referer = referrers[(visit * 7 + (visit >> 3)) % (referrers.length + 1)];
      const visitorHeaders = {
        'User-Agent': userAgent,
        'Accept-Language': language,
        'X-Forwarded-For': addresses[((visit * visit) % 7) % addresses.length] ?? '',
      };
      const address = `${product.edge}/${alias}${visit % 4 === 0 ? '?qr' : ''}`;
      await sendRequest(address, {
        headers: { ...visitorHeaders, ...(Referer !== undefined && { Referer }) },
      });
    }
  }
  return key;
};
