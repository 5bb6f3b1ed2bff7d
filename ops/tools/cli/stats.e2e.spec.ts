import { expect } from 'chai';
import { sendRequest } from '../../test/support/http.js';
import { onService } from './testing/on-service.js';
import { fixture } from '../../test/support/fixture.js';

describe('CLI: linklog stats, on a running service', () => {
  const { service, text, json, linklog, createKey, expectFailure, shorten, visit, projected } =
    onService();
  const key = fixture(() => createKey('PRO', '--account', 'shop'));
  let code: string;

  before('visit a link', async () => {
    code = await shorten(key.key);
    await visit(code);
    await visit(code);
    await visit(`${code}?qr`);
    await projected();
  });

  const api = async (path: string): Promise<unknown> => {
    const headers = { Authorization: `Bearer ${key.key}` };
    return (await sendRequest(`${service().product.api}/v2/stats${path}`, { headers })).json();
  };

  it('prints the response of the API with --json', async () => {
    const query = 'from=2026-01-01&to=2050-01-01&interval=month&tz=Asia/Kathmandu';
    const same = ['--from', '2026-01-01', '--to', '2050-01-01', '--interval', 'month'];
    const zone = ['--tz', 'Asia/Kathmandu'];
    expect(await json('stats', code, ...same, ...zone)).to.deep.equal(
      await api(`/${code}?include=all&${query}`),
    );
    const included = ['--include', 'links,triggers', '--account', 'shop'];
    expect(await json('stats', ...included, ...same, ...zone)).to.deep.equal(
      await api(`?include=links,triggers&${query}`),
    );
  });

  it('prints numbers, a plot and tables', async () => {
    const shown = await text('stats', code);
    expect(shown).to.match(new RegExp(`^short code +${code}\nurl +https://example.com/\n`));
    expect(shown)
      .to.match(/\nclicks +3\n/)
      .and.to.match(/\nclicks in it +3\n/);
    expect(shown)
      .to.match(/\n *3┤/)
      .and.to.match(/\n *0┤/);
    expect(shown).to.match(/\nSTART +CLICKS +BOTS +UNIQUES\n/);
    expect(shown).to.match(/\nTRIGGERS +CLICKS\nlink +2\nqr +1\n/);
    expect(shown).to.match(/\nCOUNTRIES +CLICKS\n\(not recorded\) +3\n/);
    const ofAccount = await text('stats', '--account', 'shop', '--include', 'links');
    expect(ofAccount).to.match(/^links +1\nclicks +3\nperiod /);
    expect(ofAccount).to.match(new RegExp(`\nLINKS +CLICKS\n${code} +3\n$`));
  });

  it('prints a row for each number with --csv', async () => {
    const csv = await text('stats', code, '--csv', '--include', 'timeseries,triggers,bots');
    const lines = csv.trimEnd().split('\n');
    expect(lines.slice(0, 2)).to.deep.equal(['list,value,clicks,bots,uniques', 'period,,3,0,']);
    expect(lines.filter((line) => line.startsWith('timeseries,'))).to.have.length.within(31, 32);
    expect(lines.slice(-2)).to.deep.equal(['triggers,link,2,,', 'triggers,qr,1,,']);
  });

  it('reports a mistake in one line', async () => {
    await expectFailure(['stats', 'spring-sale'], 1, 'Short URL not found');
    await expectFailure(['stats', '..'], 1, 'Short URL not found');
    const long = ['stats', code, '--from', '2020-01-01'];
    await expectFailure(long, 2, 'The period has more than 400 intervals');
    const zone = 'tz must be an IANA time zone, such as Europe/Berlin';
    await expectFailure(['stats', code, '--tz', 'Berlin'], 2, zone);
    const conflict = await linklog('stats', code, '--csv', '--json');
    expect(conflict.exitCode).to.equal(2);
  });
});
