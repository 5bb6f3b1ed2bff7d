import { expect } from 'chai';
import { once } from 'node:events';
import { exportedLink } from '../../../schemas/http/export.js';
import { parseCsv } from '../../../schemas/testing/csv.js';
import { createLinks } from '../../test/support/create-links.js';
import { startLinklogCli } from '../../test/support/process.js';
import { onService } from './testing/on-service.js';

describe('CLI: linklog export, on a running service', () => {
  const { service, text, createKey, expectFailure, shorten, projected } = onService();

  it('prints the links of an account as JSON lines or CSV', async () => {
    const { key } = await createKey('PRO', '--account', 'shop');
    const codes = [await shorten(key), await shorten(key)];
    await projected();
    const lines = (await text('export', '--account', 'shop')).split('\n').slice(0, -1);
    const links = lines.map((line) => exportedLink.parse(JSON.parse(line)));
    expect(links.map(({ code }) => code)).to.deep.equal([...codes].reverse());
    const [head, ...rows] = parseCsv(await text('export', '--account', 'shop', '--format', 'CSV'));
    expect(head?.slice(0, 4)).to.deep.equal(['domain', 'code', 'alias', 'url']);
    expect(rows.map(([, code]) => code)).to.deep.equal([...codes].reverse());
    expect(await text('export')).to.equal('');
  });

  it('rejects an unknown format, and an invalid account', async () => {
    await expectFailure(
      ['export', '--format', 'xml'],
      2,
      'there is no format "xml": it is one of jsonl, csv',
    );
    const { exitCode, stdout } = await startLinklogCli(['export', '--account', ''], service().env)
      .ended;
    expect([exitCode, stdout]).to.deep.equal([1, '']);
  });

  it('ends successfully when the reader of its output exits, as head does', async function () {
    this.timeout(60_000);
    const { key } = await createKey('PRO', '--account', 'many');
    const urlOf = (index: number): string => `https://example.com/${index}?${'x'.repeat(1_000)}`;
    await createLinks(service().product.api, key, 2_000, urlOf);
    await projected();
    const command = startLinklogCli(['export', '--account', 'many'], service().env);
    const { stdout } = command.child;
    if (!stdout) throw new Error('the command has no stdout');
    await once(stdout, 'data');
    stdout.destroy();
    const { exitCode, stderr } = await command.ended;
    expect([exitCode, stderr]).to.deep.equal([0, '']);
  });
});
