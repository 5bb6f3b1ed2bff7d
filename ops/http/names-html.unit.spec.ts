import { expect } from 'chai';
import { namesHtml } from './names-html.js';

describe('Accept header', () => {
  const naming = [
    'text/html',
    'TEXT/HTML',
    'text/html;q=0.1',
    'text/html; charset=utf-8; q=1',
    'application/json, text/html;q=0.001',
    'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'text/html;level=1;q=0, text/html',
    'text/html ; Q=0.5',
  ];
  for (const accept of naming) {
    it(`names text/html: ${accept}`, () => {
      expect(namesHtml(accept)).to.equal(true);
    });
  }

  const notNaming = [
    undefined,
    '',
    '*/*',
    'text/*',
    'application/json',
    'application/xhtml+xml',
    'text/htmlx',
    'x-text/html',
    'application/json;profile=text/html',
    'text/html;q=0',
    'text/html; q=0.000',
    'TEXT/HTML;Q=0, */*',
    'text/html;level=1;q=0.0,application/json',
  ];
  for (const accept of notNaming) {
    it(`does not: ${accept ?? 'none'}`, () => {
      expect(namesHtml(accept)).to.equal(false);
    });
  }
});
