import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ImportListResponse, ImportResponse } from '../../../schemas/http/imports.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { onService } from './testing/on-service.js';

describe('CLI: linklog import, on a running service', () => {
  const { text, processText, json, projected } = onService();
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

  it('imports an export of another account from stdin', async () => {
    const file = await fileWith('code,url\ncli-from,https://example.com/\n');
    await text('import', file, '--account', 'cli-a');
    await projected();
    const input = await processText(['export', '--account', 'cli-a']);
    const args = ['import', '-', '--account', 'cli-b', '--on-conflict', 'suffix', '--json'];
    const imported = { format: 'linklog', status: 'done', created: 1 };
    expect(JSON.parse(await processText(args, input))).to.include(imported);
  });
});
