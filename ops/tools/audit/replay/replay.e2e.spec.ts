import { expect } from 'chai';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { topics } from '../../../../schemas/events/topics.js';
import { cloudEventFaults } from '../../../../schemas/testing/cloud-events.js';
import { folderFixture } from '../../../test/support/fixtures.js';
import { onService } from '../../cli/testing/on-service.js';

describe('audit: linklog audit replay and history, on a running service', () => {
  const { bench, linklog, startLinklog, text, processText, createKey, ...more } = onService();
  const { expectFailure } = more;
  const folder = folderFixture();
  const code = 'cli-replay';
  const destination = 'https://example.com/replay';

  const linesOf = async (...args: readonly string[]): Promise<Record<string, unknown>[]> => {
    const lines = (await processText(['audit', 'replay', ...args])).split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  };

  before('create, visit and block a link', async () => {
    const { key } = await createKey('PRO', '--account', 'cli-replay');
    const link = { url: destination, alias: code, maxClicks: 10, expiresIn: 3_600 };
    const response = await bench.shorten(key, link, { 'X-Request-Id': 'cli-r-1' });
    expect(response.status, response.text).to.equal(201);
    // Spreadsheets would evaluate the id of this request as a formula.
    await bench.visit(code, { headers: { 'X-Request-Id': '=HYPERLINK("http://evil.example")' } });
    await bench.visit(code);
    await text('links', 'block', code, '--reason', 'phishing');
  });

  it('prints one CloudEvent a line, by time', async () => {
    const events = await linesOf('--account', 'cli-replay');
    expect(events.flatMap(cloudEventFaults)).to.be.empty;
    const times = events.map(({ time }) => time as string);
    expect(times).to.deep.equal([...times].sort());
    expect(events[0]).to.include({ type: 'linklog.ApiKeyCreated.v3' });
    expect(events[0]?.['data']).to.not.have.property('hash');

    const ofLink = await linesOf('--code', code, '--positions');
    expect(ofLink.map(({ type }) => type)).to.deep.equal([
      'linklog.LinkCreated.v4',
      'linklog.LinkVisited.v4',
      'linklog.LinkVisited.v4',
      'linklog.LinkBlocked.v1',
    ]);
    expect(ofLink[0]).to.include({ topic: topics.links.name, correlationid: 'cli-r-1' });
    expect(ofLink[0]).to.include.keys('partition', 'offset');
  });

  it('writes a file with mode 0600 and without formulas, and replaces none', async () => {
    const file = path.join(folder.path, 'events.csv');
    const args = ['audit', 'replay', '--code', code, '--format', 'csv', '--out', file];
    const { exitCode, stdout } = await startLinklog([...args, '--json']).ended;
    expect(exitCode).to.equal(0);
    expect(JSON.parse(stdout)).to.include({ file, format: 'csv', events: 4, unreadable: 0 });
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    const written = await readFile(file, 'utf8');
    expect(written).to.include(`,"'=HYPERLINK(""http://evil.example"")",`);

    const exists = `${file} exists already; choose another name, or replace it with --force`;
    await expectFailure(args, 1, exists);
    const replaced = await startLinklog([...args, '--force']).ended;
    expect(replaced.stdout).to.match(/^Wrote 4 events to /);
  });

  it('shows the history of a link', async () => {
    const timeline = await processText(['audit', 'history', code, '--visits']);
    const [head, ...lines] = timeline.split('\n');
    expect(head).to.match(/^TIME +WHAT +WHO +REQUEST +DETAILS$/);
    const cells = lines.slice(0, 4).map((line) => line.split(/ {2,}/).slice(1));
    expect(cells.map(([what]) => what)).to.deep.equal(['created', 'visited', 'visited', 'blocked']);
    expect(cells[0]?.slice(2)).to.match(
      /^cli-r-1,https:\/\/example\.com\/replay \(an alias, until .*Z, at most 10 clicks, of /,
    );
    expect(cells[1]?.at(-1)).to.equal('click 1');
    expect(cells[3]?.at(-1)).to.equal('phishing');

    const short = await processText(['audit', 'history', code]);
    expect(short).to.not.match(/visited/);
    expect(short).to.match(/\n\nclicks +2\nbots +0\nfirst +\S+Z\nlast +\S+Z\n\nDAY \(UTC\) +CL/);

    const json = JSON.parse(await processText(['audit', 'history', code, '--json'])) as {
      readonly events: readonly unknown[];
    };
    expect(json).to.deep.include({ shortCode: code }).and.have.nested.property('visits.clicks', 2);
    expect(json.events).to.have.length(2);
  });

  const replay = ['audit', 'replay'];
  for (const [args, exitCode, line] of [
    [[...replay, '--type', 'LinkCraeted'], 2, /no event type "LinkCraeted".*mean LinkCreated\?/],
    [[...replay, '--since', '20 May'], 2, /^linklog: "20 May" is not a time: use /],
    [[...replay, '--since', '2026-05-20', '--until', '2026-05-20'], 2, /is not before --until/],
    [[...replay, '--code', 'x', '--topic', 'usage'], 2, /no event can match --type, --topic and/],
    [[...replay, '--format', 'parquet'], 2, /--format parquet requires --out/],
    [[...replay, '--follow', '--out', 'x'], 2, /--follow and --out exclude each other/],
    [['audit', 'history', 'nothing0'], 1, /^linklog: the log contains no link "nothing0"\n$/],
  ] as const) {
    it(`rejects in one line: linklog ${args.join(' ')}`, async () => {
      const output = await linklog(...args);
      expect([output.exitCode, output.stdout]).to.deep.equal([exitCode, '']);
      expect(output.stderr).to.match(line);
      expect(output.stderr).to.match(/^[^\n]+\n$/);
    });
  }
});
