import { expect } from 'chai';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectFile } from '../platform/files/project-file.js';

const folders = ['command-api', 'redirect-edge', 'projectors', 'schemas', 'ops'];
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'ops/clients/typescript/README.md',
  ...readdirSync(projectFile('ops', 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `ops/docs/${name}`),
];

/** The files and folders that a page names in backquotes, without placeholders. */
const namedIn = (text: string): readonly string[] =>
  [...text.matchAll(/`([\w./-]+)`/g)]
    .map(([, name = '']) => name)
    .filter((name) => folders.includes(name.split('/')[0] ?? '') && name.includes('/'));

const targetsIn = (text: string): readonly string[] =>
  [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^https?:/.test(target));

/** The target file of a link. */
const fileOf = (page: string, target: string): string => {
  const [file = ''] = target.split('#');
  return file === '' ? page : path.join(path.dirname(page), file);
};

/** The anchors of headings, in the format of GitHub. */
const anchorsOf = (page: string): readonly string[] =>
  [...readFileSync(projectFile(page), 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );

/** The `msg` of the log lines in the table of operations.md, split at placeholders. */
const documentedLogLines = (): readonly string[] => {
  const text = readFileSync(projectFile('ops', 'docs', 'operations.md'), 'utf8');
  const [, table = ''] = /^\| `msg` .*$\n^\|[ -|]+$\n((?:^\|.*$\n)+)/m.exec(text) ?? [];
  const lines = [...table.matchAll(/^\| (.+?) +\| /gm)].map(([, messages = '']) => messages);
  return lines.flatMap((messages) =>
    [...messages.matchAll(/`([^`]+)`/g)].flatMap(([, message = '']) =>
      message.split('…').map((part) => part.replace(/: $/, '')),
    ),
  );
};

describe('ops: the documents', () => {
  for (const page of pages) {
    it(`${page} names files and links to headings that exist`, () => {
      const text = readFileSync(projectFile(page), 'utf8');
      const targets = targetsIn(text);
      const named = [...namedIn(text), ...targets.map((target) => fileOf(page, target))];
      expect(named.filter((name) => !existsSync(projectFile(name)))).to.deep.equal([]);
      const broken = targets.filter((target) => {
        const anchor = target.split('#')[1];
        return anchor !== undefined && !anchorsOf(fileOf(page, target)).includes(anchor);
      });
      expect(broken, 'headings that do not exist').to.deep.equal([]);
    });
  }

  it('ops/docs/operations.md lists log lines that the code writes', () => {
    const source = folders
      .flatMap((folder) =>
        readdirSync(projectFile(folder), { recursive: true, encoding: 'utf8' })
          .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
          .map((name) => readFileSync(projectFile(folder, name), 'utf8')),
      )
      .join('\n')
      .replaceAll(/\\(['`])/g, '$1');
    const messages = documentedLogLines();
    expect(messages).to.have.length.above(40);
    expect(messages.filter((message) => !source.includes(message))).to.deep.equal([]);
  });
});
