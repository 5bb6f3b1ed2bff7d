import { createIsbotFromList, isbotPatterns, list } from 'isbot';

/**
 * Agents that the library calls bots and that are visitors here: whoever tries a link with curl
 * sees its click. One agent for each way in which the library would recognise them.
 */
const visitors = [
  'curl/8.5.0',
  'Wget/1.21',
  'HTTPie/3.2.2',
  'python-requests/2.31.0',
  'python-httpx/0.25.2',
  'Python-urllib/3.11',
  'aiohttp/3.9.1',
  'axios/1.6.2',
  'node',
  'undici',
  'node-fetch/1.0 (+https://github.com/bitinn/node-fetch)',
  'got (https://github.com/sindresorhus/got)',
  'superagent',
  'okhttp/4.12.0',
  'Go-http-client/1.1',
  'Java/17.0.1',
  'Java-http-client/17.0.1',
  'Apache-HttpClient/4.5.14 (Java/17.0.1)',
  'libwww-perl/6.72',
  'Ruby',
  'GuzzleHttp/7',
  'PHP/8.2',
  'rest-client/2.1.0',
  'RestSharp/110.2.0.0',
  'reqwest/0.11',
  'k6/0.49.0 (https://k6.io/)',
  'ApacheBench/2.3',
  'PostmanRuntime/7.36.0',
  'Playwright/1.40',
  'Cypress/13.6.1',
  'PhantomJS/2.1.1',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0.0.0 Safari/537.36',
];

/** Crawlers and link previewers that only the patterns left out would have recognised. */
const alsoBots = [
  'bluesky cardyb',
  'contenttabreceiver',
  'embedly',
  'iframely',
  'kakaotalk-scrap',
  'mastodon',
  'meta-external',
  'scrapy',
  'slurp',
  'vkshare',
];

const tooBroad = new Set(visitors.flatMap((agent) => isbotPatterns(agent)));

/** Whether a user agent names itself a crawler or a link previewer. */
export const isBot: (userAgent: string) => boolean = createIsbotFromList([
  ...list.filter((pattern) => !tooBroad.has(pattern)),
  ...alsoBots,
]);
