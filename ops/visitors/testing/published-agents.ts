import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gunzipSync } from 'node:zlib';

// From dist/ops/visitors/testing: data files are not compiled.
const browsersFile = new URL('../../../../ops/visitors/testing/browsers.txt.gz', import.meta.url);

/**
 * User agents of browsers among the test cases of uap-core, https://github.com/ua-parser/uap-core (Apache-2.0), commit
 * e3c5e634bee0b14f1a129c991483910739ad9f6c.
 */
export const publishedBrowsers = (): string[] =>
  gunzipSync(readFileSync(browsersFile)).toString('utf8').split('\n');

export interface PublishedCrawler {
  readonly pattern: string;
  readonly instances: readonly string[];
  readonly tags?: readonly string[];
}

/** The npm package crawler-user-agents. Node 20 warns of an `import` of JSON. */
export const publishedCrawlers = (): readonly PublishedCrawler[] =>
  createRequire(import.meta.url)('crawler-user-agents') as readonly PublishedCrawler[];
