import { expect } from 'chai';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectFile } from '../platform/files/project-file.js';

const rooms = ['command-api', 'redirect-edge', 'projectors', 'schemas', 'ops'];
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'ops/test/e2e/README.md',
  ...readdirSync(projectFile('ops', 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `ops/docs/${name}`),
];

/** The files and folders that a page names in backquotes, without those with a placeholder. */
const namedIn = (text: string): readonly string[] =>
  [...text.matchAll(/`([\w./-]+)`/g)]
    .map(([, name = '']) => name)
    .filter((name) => rooms.includes(name.split('/')[0] ?? '') && name.includes('/'));

/** The targets of a page's links to files of the project. */
const linkedFrom = (page: string, text: string): readonly string[] =>
  [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^(https?:|#)/.test(target))
    .map((target) => path.join(path.dirname(page), target.replace(/#.*$/, '')));

describe('ops: the documents', () => {
  for (const page of pages) {
    it(`${page} names files and links to pages that exist`, () => {
      const text = readFileSync(projectFile(page), 'utf8');
      const named = [...namedIn(text), ...linkedFrom(page, text)];
      expect(named.filter((name) => !existsSync(projectFile(name)))).to.deep.equal([]);
    });
  }
});
