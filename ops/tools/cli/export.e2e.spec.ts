import { expect } from 'chai';
import { exportedLink } from '../../../schemas/http/export.js';
import { parseCsv } from '../../../schemas/testing/csv.js';
import { createLink } from '../../test/support/create-links.js';
import { fixture } from '../../test/support/fixture.js';
import { onService } from './testing/on-service.js';

describe('CLI: linklog export and stats, on a running service', () => {
  const { bench, text, processText, json, createKey, projected, expectFailure } = onService();
  const key = fixture(() => createKey('PRO', '--account', 'cli-export'));
  const codes: string[] = [];

  before('create links, and visit one', async () => {
    for (let count = 0; count < 2; count += 1) {
      codes.push((await createLink(bench.product.api, key.key)).shortCode);
    }
    const [code = ''] = codes;
    for (const visit of [code, code, `${code}?qr`]) await bench.visit(visit);
    await projected();
  });

  it('prints the links of an account as JSON lines or CSV', async () => {
    const args = ['export', '--account', 'cli-export'];
    const lines = (await processText(args)).split('\n').slice(0, -1);
    const links = lines.map((line) => exportedLink.parse(JSON.parse(line)));
    expect(links.map(({ code }) => code)).to.deep.equal([...codes].reverse());
    const [head, ...rows] = parseCsv(await processText([...args, '--format', 'CSV']));
    expect(head?.slice(0, 4)).to.deep.equal(['domain', 'code', 'alias', 'url']);
    expect(rows.map(([, code]) => code)).to.deep.equal([...codes].reverse());
  });

  it('prints the statistics of the API with --json', async () => {
    const [code = ''] = codes;
    const api = async (query: string): Promise<unknown> =>
      (await bench.api(`/v2/stats${query}`, key.key)).json();
    const query = 'from=2026-01-01&to=2050-01-01&interval=month&tz=Asia/Kathmandu';
    const period = ['--from', '2026-01-01', '--to', '2050-01-01', '--interval', 'month'];
    const options = [...period, '--tz', 'Asia/Kathmandu'];
    expect(await json('stats', code, ...options)).to.deep.equal(
      await api(`/${code}?include=all&${query}`),
    );
    const included = ['--include', 'links,triggers', '--account', 'cli-export'];
    expect(await json('stats', ...included, ...options)).to.deep.equal(
      await api(`?include=links,triggers&${query}`),
    );
  });

  it('prints the statistics of the links that match a filter', async () => {
    const account = ['stats', '--account', 'cli-export', '--include', 'campaigns'];
    const campaigns = [{ campaign: null, source: null, medium: null, clicks: 3 }];
    expect(await json(...account, '--search', 'example')).to.deep.include({
      ...{ linkCount: 2, clickCount: 3, campaigns },
    });
    expect(await json(...account, '--tag', 'a', '--tag', 'b')).to.deep.include({ linkCount: 0 });
    expect(await text(...account)).to.match(/\nCAMPAIGNS +CLICKS\n\(not recorded\) +3\n?$/);
    const conflict = 'a link and --tag exclude each other';
    await expectFailure(['stats', codes[0] ?? '', '--tag', 'a'], 2, conflict);
  });

  it('prints statistics as numbers, a plot and tables', async () => {
    const [code = ''] = codes;
    const shown = await text('stats', code);
    for (const pattern of [
      new RegExp(`^short code +${code}\nurl +https://example.com/`),
      ...[/\nclicks +3\n/, /\nclicks in it +3\n/, /\n *3┤/, /\n *0┤/],
      ...[/\nSTART +CLICKS +BOTS +UNIQUES\n/, /\nTRIGGERS +CLICKS\nlink +2\nqr +1\n/],
      /\nCOUNTRIES +CLICKS\n\(not recorded\) +3\n/,
    ]) {
      expect(shown).to.match(pattern);
    }
    const ofAccount = await text('stats', '--account', 'cli-export', '--include', 'links');
    expect(ofAccount).to.match(/^links +2\nclicks +3\nperiod /);
    expect(ofAccount).to.match(new RegExp(`\nLINKS +CLICKS\n${code} +3\n$`));
  });

  it('prints a row for each number of the statistics with --csv', async () => {
    const [code = ''] = codes;
    const csv = await text('stats', code, '--csv', '--include', 'timeseries,triggers,bots');
    const lines = csv.trimEnd().split('\n');
    expect(lines.slice(0, 2)).to.deep.equal(['list,value,clicks,bots,uniques', 'period,,3,0,']);
    expect(lines.filter((line) => line.startsWith('timeseries,'))).to.have.length.within(31, 32);
    expect(lines.slice(-2)).to.deep.equal(['triggers,link,2,,', 'triggers,qr,1,,']);
  });
});
