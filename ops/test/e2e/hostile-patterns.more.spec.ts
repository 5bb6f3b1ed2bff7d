import { expect } from 'chai';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import ts from 'typescript';
import { isBot } from '../../../ops/visitors/bots.js';

/** Compiled folders with code of the product. */
const folders = [
  ...['command-api', 'redirect-edge', 'schemas'],
  ...['ops/platform', 'ops/http', 'ops/event-log'],
];
const dist = fileURLToPath(new URL('../../../', import.meta.url));

/** The longest input of a pattern: a whole body. */
const maxLength = 65_536;
/** For all inputs; a linear pattern needs about 100 ms, a quadratic one minutes. */
const withinMs = 10_000;

/** Repeated characters. */
const pumps = [
  ...' \t0aA.,:;/\\%#?=&+-_@[]*"{}\x00\xe9\u00a0\u2028\ud800'.split(''),
  ...['a.', '0.', 'a ', ' ,', '%2', '::', '.0'],
];
/** Prefixes that anchored patterns match. */
const beginnings = [
  ...['', 'Bearer ', 'll_', 'http://', 'https://a', '::ffff:', '[', '%', '#', 'GET ', 'v'],
  'application/x-www-form-urlencoded',
];
/** Suffixes that prevent a match at the end. */
const ends = ['', '\n!', '\x00'];
const inputs = beginnings.flatMap((beginning) =>
  pumps.flatMap((pump) => {
    const body = pump.repeat(Math.floor(maxLength / pump.length));
    return ends.map((end) => beginning + body + end);
  }),
);

interface Pattern {
  readonly file: string;
  readonly literal: string;
}

const patternsIn = (file: string, text: string): Pattern[] => {
  const patterns: Pattern[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) patterns.push({ file, literal: node.text });
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest));
  return patterns;
};

describe('regular expressions of the product', () => {
  const patterns: Pattern[] = [];

  before(async () => {
    const others = /\.(?:spec|suite)\.|testing|conformance|console\/client/;
    for (const folder of folders) {
      for (const entry of await readdir(path.join(dist, folder), { recursive: true })) {
        const file = path.join(folder, entry);
        if (!file.endsWith('.js') || others.test(file)) continue;
        patterns.push(...patternsIn(file, await readFile(path.join(dist, file), 'utf8')));
      }
    }
    expect(patterns.length).to.be.above(40);
    expect(patterns.some(({ file }) => file.endsWith('client-address.js'))).to.equal(true);
  });

  it('each end in time on 64 KiB of repeated characters', function () {
    this.timeout(120_000);
    const slow = patterns.filter(({ literal }) => {
      const end = literal.lastIndexOf('/');
      const pattern = new RegExp(literal.slice(1, end), literal.slice(end + 1));
      const code = 'for (const input of inputs) { pattern.lastIndex = 0; pattern.test(input); }';
      try {
        runInNewContext(code, { pattern, inputs }, { timeout: withinMs });
        return false;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
        return true;
      }
    });
    expect(slow).to.deep.equal([]);
  });

  it('of bots end in time on the longest user agent', () => {
    for (const input of inputs) isBot(input.slice(0, 16_384));
  });
});
