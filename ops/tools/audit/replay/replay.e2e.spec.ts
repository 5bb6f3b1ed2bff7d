import { expect } from 'chai';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { topics } from '../../../../schemas/events/topics.js';
import { cloudEventFaults } from '../../../../schemas/testing/cloud-events.js';
import { runningPostgresUrl } from '../../../local/postgres/index.js';
import { createLogger } from '../../../platform/logging.js';
import { createPool } from '../../../platform/postgres/pool.js';
import { sendRequest } from '../../../test/support/http.js';
import { startProduct } from '../../../test/support/product.js';
import { eventually } from '../../../test/support/waiting.js';
import { openTestLog } from '../../../test/support/node.js';
import { type CommandOutput, startLinklogCli } from '../../../test/support/process.js';
import { fixture } from '../../../test/support/fixture.js';

describe('audit: linklog audit replay and history', () => {
  const product = fixture(
    () => startProduct(),
    (product) => product.cleanup(),
  );
  const code = 'spring-sale';
  const destination = 'https://example.com/spring';

  const linklog = (...args: readonly string[]): Promise<CommandOutput> =>
    startLinklogCli(args, { DATA_DIR: product.dataDir }).ended;

  /** Returns the stdout of a successful command. */
  const text = async (...args: readonly string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await linklog(...args);
    expect({ exitCode, stderr }, args.join(' ')).to.deep.equal({ exitCode: 0, stderr: '' });
    return stdout;
  };

  const linesOf = async (...args: readonly string[]): Promise<Record<string, unknown>[]> => {
    const lines = (await text('audit', 'replay', ...args)).split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  };

  before('create, visit and block a link', async () => {
    const headers = { Authorization: `Bearer ${product.firstKey ?? ''}`, 'X-Request-Id': 'r-1' };
    const response = await sendRequest(`${product.api}/v2/shorten`, {
      method: 'POST',
      headers,
      body: { url: destination, alias: code, maxClicks: 10, expiresIn: 3_600 },
    });
    expect(response.status, response.text).to.equal(201);
    for (let click = 0; click < 2; click += 1) {
      expect((await sendRequest(`${product.edge}/${code}`)).status).to.equal(302);
    }
    await text('links', 'block', code, '--reason', 'phishing');
  });

  after('stop the product', async () => {
    await product.stop();
  });

  it('print one CloudEvent a line, by time', async () => {
    const events = await linesOf();
    expect(events.flatMap(cloudEventFaults)).to.be.empty;
    const times = events.map(({ time }) => time as string);
    expect(times).to.deep.equal([...times].sort());
    expect(events[0]).to.include({ type: 'linklog.ApiKeyCreated.v3' });
    expect(events[0]?.['data']).to.not.have.property('hash');

    const ofLink = await linesOf('--code', code, '--positions');
    expect(ofLink.map(({ type, offset }) => [type, offset])).to.deep.equal([
      ['linklog.LinkCreated.v4', 0],
      ['linklog.LinkVisited.v3', 0],
      ['linklog.LinkVisited.v3', 1],
      ['linklog.LinkBlocked.v1', 1],
    ]);
    expect(ofLink[0]).to.include({ topic: topics.links.name, correlationid: 'r-1' });
    const since = String(ofLink[3]?.['time']);
    const found = await linesOf('--since', since, '--type', 'LinkBlocked', '--topic', 'links');
    expect(found.map(({ data }) => data)).to.deep.equal([{ reason: 'phishing' }]);
    expect(await linesOf('--until', since, '--type', 'linklog.LinkBlocked.v1')).to.be.empty;
  });

  it('write a file with mode 0600, and replace none', async () => {
    const file = path.join(product.dataDir, 'events.csv');
    const args = ['audit', 'replay', '--request', 'r-1', '--format', 'csv', '--out', file];
    const { exitCode, stdout } = await linklog(...args, '--json');
    expect(exitCode).to.equal(0);
    expect(JSON.parse(stdout)).to.include({ file, format: 'csv', events: 1, unreadable: 0 });
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    expect(lines).to.have.length(2);
    expect(lines[1]).to.match(/^linklog\.links\.v1,\d,0,\d{4}-.*Z,linklog\.LinkCreated\.v4,spring/);

    const again = await linklog(...args);
    expect(again).to.deep.equal({
      exitCode: 1,
      stdout: '',
      stderr: `linklog: ${file} exists already; choose another name, or replace it with --force\n`,
    });
    expect((await linklog(...args, '--force')).stdout).to.match(/^Wrote 1 event to /);
  });

  it('follow the log until SIGINT', async () => {
    const args = ['audit', 'replay', '--follow', '--type', 'MaintenanceSwitched'];
    const { child, ended } = startLinklogCli(args, { DATA_DIR: product.dataDir });
    let seen = '';
    child.stdout?.on('data', (chunk: string) => {
      seen += chunk;
    });
    for (const position of ['on', 'off']) {
      await text('platform', 'set', '--maintenance', position, '--yes');
      const lines = position === 'on' ? 1 : 2;
      await eventually(`maintenance is reported as ${position}`, () => {
        return seen.split('\n').length === lines + 1;
      });
    }
    child.kill('SIGINT');
    const { exitCode, stderr } = await ended;
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
    const switches = seen.trimEnd().split('\n');
    expect(
      switches.map((line) => (JSON.parse(line) as { data: { on: boolean } }).data.on),
    ).to.deep.equal([true, false]);
  });

  it('show the history of a link', async () => {
    const day = new Date().toISOString().slice(0, 10);
    const timeline = await text('audit', 'history', code, '--visits');
    const [head, ...lines] = timeline.split('\n');
    expect(head).to.match(/^TIME +WHAT +WHO +REQUEST +DETAILS$/);
    const cells = lines.slice(0, 4).map((line) => line.split(/ {2,}/).slice(1));
    expect(cells.map(([what]) => what)).to.deep.equal(['created', 'visited', 'visited', 'blocked']);
    expect(cells[0]?.slice(2)).to.match(
      /^r-1,https:\/\/example\.com\/spring \(an alias, until .*Z, at most 10 clicks, of /,
    );
    expect(cells[1]?.at(-1)).to.equal('click 1');
    expect(cells[3]?.at(-1)).to.equal('phishing');

    const short = await text('audit', 'history', code);
    expect(short).to.not.match(/visited/);
    expect(short).to.match(/\n\nclicks +2\nbots +0\nfirst +\S+Z\nlast +\S+Z\n\nDAY \(UTC\) +CL/);

    const json = JSON.parse(await text('audit', 'history', code, '--json')) as {
      events: { type: string }[];
      visits: { clicks: number; days: { clicks: number }[] };
    };
    expect(json).to.have.property('shortCode', code);
    expect(json.events.map(({ type }) => type)).to.deep.equal([
      'linklog.LinkCreated.v4',
      'linklog.LinkBlocked.v1',
    ]);
    expect(json.visits.clicks).to.equal(2);
    expect(json.visits.days.reduce((sum, { clicks }) => sum + clicks, 0)).to.equal(2);
    // Skipped at midnight.
    expect(short.includes(day) || new Date().toISOString().slice(0, 10) !== day).to.be.true;
  });

  it('escape formulas that visitors have sent', async () => {
    const formulas = ['=HYPERLINK("http://evil.example","x")', '+1', '-1', '@SUM(A1)'];
    for (const formula of formulas) {
      const response = await sendRequest(`${product.api}/v2/shorten`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${product.firstKey ?? ''}` },
        body: { url: destination, maxClicks: 1 },
      });
      const { shortCode } = response.json() as { shortCode: string };
      const visit = await sendRequest(`${product.edge}/${shortCode}`, {
        headers: { 'X-Request-Id': formula },
      });
      expect(visit.status).to.equal(302);
    }
    const file = path.join(product.dataDir, 'formulas.csv');
    const args = ['--type', 'LinkVisited', '--format', 'csv', '--out', file];
    expect((await linklog('audit', 'replay', ...args)).exitCode).to.equal(0);
    const written = await readFile(file, 'utf8');
    for (const formula of formulas) {
      expect(written).to.include(`'${formula.replaceAll('"', '""')}`);
    }
    expect(written).to.not.match(/(?:^|,)"?[=+@-]/m);
  });

  describe('report in one line', () => {
    const replay = ['audit', 'replay'];
    const wrong: readonly (readonly [readonly string[], number, RegExp])[] = [
      [[...replay, '--type', 'LinkCraeted'], 2, /no event type "LinkCraeted".*mean LinkCreated\?/],
      [[...replay, '--since', '20 May'], 2, /^linklog: "20 May" is not a time: use /],
      [[...replay, '--since', '2026-05-20', '--until', '2026-05-20'], 2, /is not before --until/],
      [
        [...replay, '--code', 'x', '--topic', 'usage'],
        2,
        /no event can match --type, --topic and --code/,
      ],
      [[...replay, '--format', 'parquet'], 2, /--format parquet requires --out/],
      [[...replay, '--follow', '--out', 'x'], 2, /--follow and --out exclude each other/],
      [['audit', 'history', 'nothing0'], 1, /^linklog: the log contains no link "nothing0"\n$/],
    ];
    for (const [args, exitCode, line] of wrong) {
      it(`linklog ${args.join(' ')}`, async () => {
        const output = await linklog(...args);
        expect([output.exitCode, output.stdout]).to.deep.equal([exitCode, '']);
        expect(output.stderr)
          .to.match(line)
          .and.to.match(/^[^\n]+\n$/);
      });
    }
  });

  it('report unreadable records, print the others, and exit with 1', async () => {
    const url = await runningPostgresUrl(product.dataDir);
    if (url === null) throw new Error('The embedded PostgreSQL does not run');
    const logger = createLogger('silent');
    const pool = createPool({ url, name: 'test', max: 2, logger });
    const { log } = await openTestLog({ pool, url, logger });
    await log.append(topics.platform.name, [{ key: 'platform', value: 'no event' }]);
    await log.close();
    await pool.end();
    const { exitCode, stdout, stderr } = await linklog('audit', 'replay', '--topic', 'platform');
    expect(exitCode).to.equal(1);
    expect(stdout.trimEnd().split('\n')).to.have.length(2);
    expect(stderr).to.match(
      /^linklog: linklog\.platform\.v1\/0 at offset 2: .*not JSON\nlinklog: 1 unreadable record omitted\n/,
    );
  });
});
