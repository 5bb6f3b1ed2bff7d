import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ImportListResponse, ImportResponse } from '../../../schemas/http/imports.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { startShlink } from '../import-sources/testing/shlink-server.js';
import { onService, unknownId } from './testing/on-service.js';

describe('CLI: linklog import, on a running service', () => {
  const { text, processText, json, linklog, expectFailure, projected } = onService();
  const folder = folderFixture();

  const fileWith = async (content: string): Promise<string> => {
    const file = path.join(folder.path, 'file');
    await writeFile(file, content);
    return file;
  };

  const importJson = async (...args: readonly string[]): Promise<ImportResponse> =>
    (await json('import', ...args)) as ImportResponse;

  it('creates the links of a file, and none in a dry run or a second run', async () => {
    const content =
      'code,url,title\ncli-1,https://example.com/1,One\ncli-2,https://example.com/2,\n';
    const args = [await fileWith(content), '--account', 'cli-import'];
    const dryRun = await importJson(...args, '--dry-run');
    expect(dryRun).to.include({ status: 'done', dryRun: true, rows: 2, created: 2 });
    const first = await importJson(...args);
    const created = { format: 'csv', status: 'done', rows: 2, created: 2, existing: 0, failed: 0 };
    expect(first).to.include(created);
    expect(await text('import', ...args)).to.match(/^created +0\nexisting +2\nfailed +0$/m);
    const list = await json('imports', 'list', '--account', 'cli-import');
    const { imports } = list as ImportListResponse;
    expect(imports).to.have.length(3);
    expect(imports.at(-2)).to.deep.include(first);
    expect(await json('imports', 'show', first.id)).to.deep.equal(first);
    // A stop of an import that has ended changes nothing.
    expect(await json('imports', 'stop', first.id)).to.deep.equal(first);
  });

  it('prints failed rows, whose import is a success', async () => {
    const file = await fileWith(
      'code,url\ncli-rows-1,https://example.com/\n,https://example.com/\ncli-rows-3,ftp://x\n',
    );
    const { exitCode, stdout } = await linklog('import', file);
    expect(exitCode).to.equal(0);
    const [fields = '', failed = ''] = stdout.split('\n\n');
    expect(fields).to.match(/^created +1$/m);
    expect(failed).to.match(/^3 -: invalid, [^\n]+\n4 cli-rows-3: invalid, [^\n]+\n$/);
    const [, id = ''] = /^id +(\S+)$/m.exec(fields) ?? [];
    const rows = await processText(['imports', 'rows', id, '--outcome', 'created']);
    expect(rows).to.equal('2 cli-rows-1: created\n');
  });

  it('fails if a code is in use with --on-conflict fail', async () => {
    await text('import', await fileWith('code,url\ncli-taken,https://example.com/\n'));
    const file = await fileWith('code,url\ncli-taken,https://example.com/other\n');
    const { exitCode, stdout, stderr } = await linklog('import', file, '--on-conflict', 'fail');
    expect(exitCode).to.equal(1);
    expect(stderr).to.match(/^linklog: the import failed(: [^\n]+)?\n$/);
    expect(stdout).to.match(/^1 more: |^2 cli-taken: conflict, /m);
  });

  it('imports an export of another account from stdin', async () => {
    const file = await fileWith('code,url\ncli-from,https://example.com/\n');
    await text('import', file, '--account', 'cli-a');
    await projected();
    const input = await processText(['export', '--account', 'cli-a']);
    const args = ['import', '-', '--account', 'cli-b', '--on-conflict', 'suffix', '--json'];
    const imported = { format: 'linklog', status: 'done', created: 1 };
    expect(JSON.parse(await processText(args, input))).to.include(imported);
  });

  it('imports links, rules and visits of Shlink', async () => {
    const { state, server } = await startShlink();
    try {
      const visit = {
        ...{ date: '2025-01-02T03:04:05+00:00', referer: 'https://t.co/' },
        ...{ userAgent: 'Mozilla/5.0', visitLocation: { countryCode: 'DE' } },
      };
      const conditions = [{ type: 'device', matchKey: null, matchValue: 'ios' }];
      const rules = [{ longUrl: 'https://example.com/ios', priority: 1, conditions }];
      state.links = [
        { shortCode: 'shlink-1', domain: null, visits: [visit, visit], rules },
        { shortCode: 'shlink-2', domain: null, visits: [], rules: [] },
      ];
      const keyFile = await fileWith('the-key\n');
      const from = ['--from', 'shlink', '--url', `http://${server.host}`, '--key-file', keyFile];
      const imported = { format: 'shlink-api', status: 'done', created: 2, visits: 2 };
      expect(await importJson(...from, '--visits')).to.include(imported);
      expect(await importJson(...from, '--visits')).to.include({ existing: 2, visits: 0 });
      await projected();
      expect(await json('links', 'show', 'shlink-1')).to.deep.include({
        rules: [{ name: 'rule-1', when: { os: ['iOS'] }, url: 'https://example.com/ios' }],
        clickCount: 2,
      });
    } finally {
      server.close();
    }
  });

  it('reports an unknown import and an unknown format in one line', async () => {
    for (const command of ['show', 'rows', 'stop']) {
      await expectFailure(['imports', command, unknownId], 1, 'Import not found');
      await expectFailure(['imports', command, ''], 2, 'the id is empty');
    }
    const { exitCode, stdout, stderr } = await linklog('import', await fileWith('no links\n'));
    expect([exitCode, stdout]).to.deep.equal([1, '']);
    expect(stderr).to.match(/^linklog: The format of the file was not recognised\.[^\n]+\n$/);
  });
});
