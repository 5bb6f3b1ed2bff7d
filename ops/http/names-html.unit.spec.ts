import { expect } from 'chai';
import { namesHtml } from './names-html.js';

describe('Accept header', () => {
  for (const [expected, headers] of [
    [
      true,
      [
        ...['text/html', 'TEXT/HTML', 'text/html;q=0.1', 'text/html; charset=utf-8; q=1'],
        ...['application/json, text/html;q=0.001', 'text/html;level=1;q=0, text/html'],
        ...['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html ; Q=0.5'],
      ],
    ],
    [
      false,
      [
        ...[undefined, '', '*/*', 'text/*', 'application/json', 'text/htmlx', 'x-text/html'],
        ...['application/xhtml+xml', 'application/json;profile=text/html', 'text/html;q=0'],
        ...['text/html; q=0.000', 'TEXT/HTML;Q=0, */*', 'text/html;level=1;q=0.0,application/json'],
      ],
    ],
  ] as const) {
    it(expected ? 'names text/html' : 'does not name text/html', () => {
      for (const accept of headers) expect(namesHtml(accept), accept).to.equal(expected);
    });
  }
});
