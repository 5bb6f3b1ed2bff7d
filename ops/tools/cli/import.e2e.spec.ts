import { expect } from 'chai';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ImportListResponse, ImportResponse } from '../../../schemas/http/imports.js';
import { fixture } from '../../test/support/fixture.js';
import { startLinklogCli, temporaryDir } from '../../test/support/process.js';
import { startShlink } from '../import-sources/testing/shlink-server.js';
import { onService } from './testing/on-service.js';

const unknownId = '01990000-0000-7000-8000-000000000000';

describe('CLI: linklog import, on a running service', () => {
  const { service, text, json, linklog, expectFailure, projected } = onService();
  const files = fixture(
    async () => ({ dir: await temporaryDir() }),
    ({ dir }) => rm(dir, { recursive: true }),
  );

  const fileWith = async (content: string): Promise<string> => {
    const file = path.join(files.dir, 'file');
    await writeFile(file, content);
    return file;
  };

  const importJson = async (...args: readonly string[]): Promise<ImportResponse> =>
    (await json('import', ...args)) as ImportResponse;

  it('creates the links of a file, and none of a second run', async () => {
    const content =
      'code,url,title\nshop-1,https://example.com/1,One\nshop-2,https://example.com/2,\n';
    const args = [await fileWith(content), '--account', 'shop'];
    const dryRun = await importJson(...args, '--dry-run');
    expect(dryRun).to.include({ status: 'done', dryRun: true, rows: 2, created: 2 });
    const first = await importJson(...args);
    const created = { format: 'csv', status: 'done', rows: 2, created: 2, existing: 0, failed: 0 };
    expect(first).to.include(created);
    const second = await text('import', ...args);
    expect(second).to.match(/^created +0\nexisting +2\nfailed +0$/m);
    const { imports } = (await json('imports', 'list', '--account', 'shop')) as ImportListResponse;
    expect(imports).to.have.length(3);
    expect(imports.at(-2)).to.deep.include(first);
    expect(await json('imports', 'show', first.id)).to.deep.equal(first);
  });

  it('prints failed rows, whose import is a success', async () => {
    const content =
      'code,url\nrows-1,https://example.com/\n,https://example.com/\nrows-3,ftp://x\n';
    const { exitCode, stdout } = await linklog('import', await fileWith(content));
    expect(exitCode).to.equal(0);
    const [fields = '', failed = ''] = stdout.split('\n\n');
    expect(fields).to.match(/^created +1$/m);
    expect(failed).to.match(/^3 -: invalid, [^\n]+\n4 rows-3: invalid, [^\n]+\n$/);
    const [, id = ''] = /^id +(\S+)$/m.exec(fields) ?? [];
    const rows = await text('imports', 'rows', id, '--outcome', 'created');
    expect(rows).to.equal('2 rows-1: created\n');
  });

  it('fails if a code is in use with --on-conflict fail', async () => {
    await text('import', await fileWith('code,url\ntaken-1,https://example.com/\n'));
    const file = await fileWith('code,url\ntaken-1,https://example.com/other\n');
    const { exitCode, stdout, stderr } = await linklog('import', file, '--on-conflict', 'fail');
    expect(exitCode).to.equal(1);
    expect(stderr).to.match(/^linklog: the import failed(: [^\n]+)?\n$/);
    expect(stdout).to.match(/^1 more: |^2 taken-1: conflict, /m);
  });

  it('imports an export of another account', async () => {
    await text(
      'import',
      await fileWith('code,url\nfrom-1,https://example.com/\n'),
      '--account',
      'a',
    );
    await projected();
    const input = await text('export', '--account', 'a');
    const { ended } = startLinklogCli(
      ['import', '-', '--account', 'b', '--on-conflict', 'suffix', '--json'],
      service().env,
      undefined,
      input,
    );
    const { exitCode, stdout } = await ended;
    expect(exitCode).to.equal(0);
    expect(JSON.parse(stdout)).to.include({ format: 'linklog', status: 'done', created: 1 });
  });

  it('imports links, rules and visits of Shlink', async () => {
    const { state, server } = await startShlink();
    try {
      const visit = {
        ...{
          date: '2025-01-02T03:04:05+00:00',
          referer: 'https://t.co/',
          userAgent: 'Mozilla/5.0',
        },
        visitLocation: { countryCode: 'DE' },
      };
      const conditions = [{ type: 'device', matchKey: null, matchValue: 'ios' }];
      state.links = [
        {
          ...{ shortCode: 'shlink-1', domain: null, visits: [visit, visit] },
          rules: [{ longUrl: 'https://example.com/ios', priority: 1, conditions }],
        },
        { shortCode: 'shlink-2', domain: null, visits: [], rules: [] },
      ];
      const keyFile = await fileWith('the-key\n');
      const from = ['--from', 'shlink', '--url', `http://${server.host}`, '--key-file', keyFile];
      expect(await importJson(...from, '--visits')).to.include({
        ...{ format: 'shlink-api', status: 'done', created: 2, visits: 2 },
      });
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

  it('stops an import that has ended without a change', async () => {
    const ended = await importJson(await fileWith('code,url\nend-1,https://example.com/\n'));
    expect(await json('imports', 'stop', ended.id)).to.deep.equal(ended);
  });

  it('reports a mistake in one line', async () => {
    for (const args of [['show'], ['rows'], ['stop']]) {
      await expectFailure(['imports', ...args, unknownId], 1, 'Import not found');
      await expectFailure(['imports', ...args, ''], 2, 'the id is empty');
    }
    const file = await fileWith('no links\n');
    const { exitCode, stdout, stderr } = await linklog('import', file);
    expect([exitCode, stdout]).to.deep.equal([1, '']);
    expect(stderr).to.match(/^linklog: The format of the file was not recognised\.[^\n]+\n$/);
  });
});
