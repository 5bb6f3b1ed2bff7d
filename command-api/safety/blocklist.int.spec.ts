import { expect } from 'chai';
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '../../ops/platform/errors.js';
import { createLogger } from '../../ops/platform/logging.js';
import { openBlocklistFile, type BlocklistFile } from './blocklist.js';
import { openWebSafety } from './web-safety.js';
import { rejection } from '../../ops/test/support/waiting.js';
import { folderFixture } from '../../ops/test/support/fixtures.js';

describe('command API: blocklist in a file', () => {
  const logger = createLogger('silent');
  const folder = folderFixture({ per: 'test' });
  let file: string;
  beforeEach(async () => {
    file = path.join(folder.path, 'list.txt');
    await writeFile(file, 'first.example\n');
  });

  const verdicts = ({ check }: BlocklistFile): Promise<readonly string[]> =>
    check(['https://first.example/', 'https://second.example/']);

  const expectRefusal = async (name: string, message: RegExp) => {
    const error = await rejection(openBlocklistFile(name, logger));
    expect(error).to.be.instanceOf(ConfigError);
    expect(error).to.have.property('message').that.matches(message);
  };

  it('is read at startup, and again after a change or replacement', async () => {
    const list = await openBlocklistFile(file, logger);
    await writeFile(file, 'first.example\nsecond.example\n');
    expect(await verdicts(list)).to.deep.equal(['unsafe', 'safe']);
    await list.refresh();
    expect(await verdicts(list)).to.deep.equal(['unsafe', 'unsafe']);
    await writeFile(`${file}.new`, 'second.example\n');
    await rename(`${file}.new`, file);
    await list.refresh();
    expect(await verdicts(list)).to.deep.equal(['safe', 'unsafe']);
  });

  it('is read in a thread if it is large', async () => {
    const lines = Array.from({ length: 2_000 }, (_, index) => `host-${index}.example`);
    await writeFile(file, `${lines.join('\n')}\nsecond.example\n`);
    const list = await openBlocklistFile(file, logger);
    expect(await verdicts(list)).to.deep.equal(['safe', 'unsafe']);
    const version = list.version();
    await writeFile(file, `${lines.join('\n')}\nno host\n`);
    await list.refresh();
    expect(list.version(), 'it is invalid').to.equal(version);
    await expectRefusal(file, /^BLOCKLIST_FILE .*line 2001 .*no host/);
  });

  it('stays in use, with its version, while the file is invalid or missing', async () => {
    const list = await openBlocklistFile(file, logger);
    const first = list.version();
    await writeFile(file, 'second.example\nno host\n');
    await list.refresh();
    await list.refresh();
    expect(await verdicts(list)).to.deep.equal(['unsafe', 'safe']);
    await rm(file);
    await list.refresh();
    expect(await verdicts(list)).to.deep.equal(['unsafe', 'safe']);
    expect(list.version()).to.equal(first);
    await writeFile(file, 'second.example\n');
    await list.refresh();
    expect(await verdicts(list)).to.deep.equal(['safe', 'unsafe']);
    expect(list.version()).not.to.equal(first);
    // On all nodes, the version of a text is the same.
    await writeFile(file, 'first.example\n');
    expect((await openBlocklistFile(file, logger)).version()).to.equal(first);
  });

  it('fails the startup if it is invalid', async () => {
    await expectRefusal(path.join(folder.path, 'nothing'), /^BLOCKLIST_FILE .*ENOENT/);
    await writeFile(file, 'first.example\n\nftp://evil.example\n');
    await expectRefusal(file, /^BLOCKLIST_FILE .*line 3 .*ftp:/);
  });

  it('is the built-in one by default', async () => {
    const safety = await openWebSafety({ blocklistFile: null, safeBrowsing: null }, logger);
    const urls = ['https://grabify.link/x', 'https://example.com/', 'https://google.com/'];
    expect(await safety.check(urls)).to.deep.equal(['unsafe', 'safe', 'safe']);
  });
});
