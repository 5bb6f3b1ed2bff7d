import { expect } from 'chai';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectFile } from '../platform/files/project-file.js';

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'ops/test/e2e/README.md',
  ...readdirSync(projectFile('ops', 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `ops/docs/${name}`),
];

/** The targets of a page's links to files of the project. */
const linkedFrom = (page: string, text: string): readonly string[] =>
  [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^(https?:|#)/.test(target))
    .map((target) => path.join(path.dirname(page), target.replace(/#.*$/, '')));

describe('ops: the documents', () => {
  for (const page of pages) {
    it(`${page} links to pages that exist`, () => {
      const text = readFileSync(projectFile(page), 'utf8');
      expect(linkedFrom(page, text).filter((name) => !existsSync(projectFile(name)))).to.deep.equal(
        [],
      );
    });
  }
});
