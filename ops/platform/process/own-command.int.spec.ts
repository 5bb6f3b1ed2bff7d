import { expect } from 'chai';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { folderFixture } from '../../test/support/fixtures.js';
import { linklogCommand } from './own-command.js';

describe('platform: the command line of this installation', () => {
  const folder = folderFixture({ per: 'test' });

  /** A project with its command line, and a folder for programs. */
  const install = (name = 'project') => {
    const root = path.join(folder.path, name);
    const main = path.join(root, 'dist/ops/tools/cli/main.js');
    mkdirSync(path.dirname(main), { recursive: true });
    writeFileSync(main, '');
    const bin = path.join(folder.path, 'bin');
    mkdirSync(bin);
    return {
      root,
      main,
      bin,
      invocation: { root, binDirs: [bin], program: main, workingDir: '/' },
    };
  };

  it('is npx in the folder of the project and below, and nowhere else', () => {
    const { root, main, invocation } = install();
    for (const workingDir of [root, path.join(root, 'ops/docs')]) {
      expect(linklogCommand({ ...invocation, workingDir })).to.equal('npx linklog');
    }
    for (const workingDir of ['/', path.dirname(root), `${root}-2`, `${root}/../..x`]) {
      expect(linklogCommand({ ...invocation, workingDir })).to.equal(`node ${main}`);
    }
  });

  it('is linklog if a link to this installation was started or is installed', () => {
    const { root, main, bin, invocation } = install();
    const link = path.join(bin, 'linklog');
    symlinkSync(main, link);
    expect(linklogCommand({ ...invocation, workingDir: root })).to.equal('linklog');
    expect(linklogCommand({ ...invocation, binDirs: [], program: link })).to.equal('linklog');
  });

  it('is not the linklog of another installation', () => {
    const { main, bin, invocation } = install();
    const other = path.join(bin, 'other.js');
    writeFileSync(other, '');
    symlinkSync(other, path.join(bin, 'linklog'));
    expect(linklogCommand(invocation)).to.equal(`node ${main}`);
  });

  it('quotes a path with spaces or quotes for the shell', () => {
    const { root, invocation } = install("it's a project");
    const file = `${root}/dist/ops/tools/cli/main.js`.replace("'", String.raw`'\''`);
    expect(linklogCommand(invocation)).to.equal(`node '${file}'`);
  });
});
