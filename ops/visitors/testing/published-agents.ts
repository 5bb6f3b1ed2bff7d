import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gunzipSync } from 'node:zlib';

// From dist/ops/visitors/testing: data files are not compiled.
export const browsersFile = new URL(
  '../../../../ops/visitors/testing/browsers.txt.gz',
  import.meta.url,
);

/** User agents of browsers, from the test cases of uap-core: see `extract-browsers.ts`. */
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
