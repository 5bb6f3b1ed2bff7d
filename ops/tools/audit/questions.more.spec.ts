import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { topics } from '../../../schemas/events/topics.js';
import { defaultPlanTable } from '../../../schemas/plans.js';
import { readConfig } from '../../config/config.js';
import { projectFile } from '../../platform/files/project-file.js';
import { productFixture } from '../../test/e2e/harness.js';
import { fixture } from '../../test/support/fixture.js';
import { folderFixture, kafkaFixture } from '../../test/support/fixtures.js';
import { concurrently, statuses } from '../../test/support/http.js';
import { kafkaPrograms } from '../../test/support/kafka.js';
import { needs } from '../../test/support/needs.js';
import { startLinklogCli } from '../../test/support/process.js';
import { waitUntilProjected } from '../../test/support/projected.js';
import { withDatabase } from '../cli/database.js';

const mainFile = fileURLToPath(new URL('../cli/main.js', import.meta.url));
const document = readFileSync(projectFile('ops', 'docs', 'audit.md'), 'utf8');

type Tool = 'linklog' | 'kcat' | 'sql';

interface Command {
  readonly question: number;
  readonly tool: Tool;
  readonly text: string;
}

/** The commands and queries of the document's questions. */
const commands: readonly Command[] = document
  .split(/^## (?=\d+\. )/m)
  .slice(1)
  .flatMap((section) =>
    [...section.matchAll(/^```(sh|sql)\n(.*?)^```$/gms)].flatMap<Command>(
      ([, language, text = '']) => {
        const question = parseInt(section, 10);
        if (language === 'sql') return [{ question, tool: 'sql' as const, text }];
        const tool = text.startsWith('kcat ') ? ('kcat' as const) : ('linklog' as const);
        // Each line of linklog is a command; a command of kcat has several lines.
        const texts = tool === 'kcat' ? [text] : text.trimEnd().split('\n');
        return texts.map((line) => ({ question, tool, text: line }));
      },
    ),
  );

const executed = new Set<Command>();

interface Event {
  readonly subject: string;
  readonly time: string;
  readonly actor?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const linesOf = (text: string): string[] =>
  text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));

const eventsOf = (text: string): Event[] => linesOf(text).map((line) => JSON.parse(line) as Event);

const sumOf = (numbers: readonly number[]): number =>
  numbers.reduce((sum, number) => sum + number, 0);

const tomorrow = (): string => new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);

/** The moments of this run, which replace those of the document. */
type Moments = Readonly<Record<'created' | 'used' | 'reported' | 'ended', string>>;

/** Starts a product, creates the history of the document on it, and runs the document's commands. */
const describedHistory = (logSettings: () => Readonly<Record<string, string>>) => {
  const folder = folderFixture();
  const settings = (): Readonly<Record<string, string>> => ({
    ...{ PLANS_FILE: path.join(folder.path, 'plans.json'), ...logSettings() },
  });
  const bench = productFixture(async () => {
    const { plans } = defaultPlanTable;
    const few = { ...plans, HOBBY: { ...plans.HOBBY, monthlyLinks: 3 } };
    const table = { ...defaultPlanTable, plans: few };
    await writeFile(path.join(folder.path, 'plans.json'), JSON.stringify(table));
    return settings();
  });

  const now = async (): Promise<string> => {
    // No event before or after has the same millisecond.
    await sleep(3);
    const moment = new Date().toISOString();
    await sleep(3);
    return moment;
  };

  const act = async (actor: string, method: string, where: string, body?: object) => {
    const response = await bench.admin(method, `/admin${where}`, body, { 'X-Actor': actor });
    expect(response.status, response.text).to.be.within(200, 201);
    return response.json() as { id: string; key: string };
  };

  const history = fixture(async () => {
    const website = await act('alice', 'POST', '/keys', { name: 'website', plan: 'HOBBY' });
    const oldShop = await act('alice', 'POST', '/keys', { name: 'old shop', plan: 'FREE' });
    const created = await now();
    const urls = [
      { url: 'https://example.com/spring', alias: 'spring-sale' },
      { url: 'https://example.com/raffle', alias: 'hundred', maxClicks: 100 },
    ];
    const batch = await bench.api('/v2/shorten/batch', website.key, {
      ...{ method: 'POST', headers: { 'X-Request-Id': 'req-4711' }, body: { urls } },
    });
    expect(batch.text).to.match(/"success":true.*"success":true/);
    for (const status of [201, 429]) {
      const third = await bench.shorten(website.key, { url: 'https://example.com/' });
      expect(third.status).to.equal(status);
    }
    const used = await now();
    const clicks = await concurrently(105, () => bench.visit('hundred'));
    expect(statuses(clicks)).to.deep.equal({ 302: 100, 410: 5 });
    for (const headers of [
      {},
      {},
      { Referer: 'https://news.example.com/' },
      { 'User-Agent': 'Googlebot/2.1' },
    ]) {
      await bench.visit('spring-sale', { headers });
    }
    await act('alice', 'PATCH', '/platform', { features: { passwords: false } });
    await act('bob', 'DELETE', `/keys/${oldShop.id}`);
    await act('bob', 'POST', '/links/spring-sale/block', { reason: 'phishing' });
    const reported = await now();
    await act('alice', 'POST', '/links/spring-sale/unblock', { reason: 'a mistake' });
    await waitUntilProjected(bench.product.edges);
    const moments: Moments = { created, used, reported, ended: await now() };
    return { websiteId: website.id, oldShopId: oldShop.id, moments };
  });

  const environment = (): Record<string, string> => ({
    ...{ ...settings(), DATA_DIR: bench.product.dataDir },
  });

  /** Runs a command of the document with the times of this run. */
  const run = async (
    question: number,
    tool: Tool,
    at: Readonly<Record<string, string>> = {},
    index = 0,
  ): Promise<string> => {
    const command = commands.filter(
      (candidate) => candidate.question === question && candidate.tool === tool,
    )[index];
    if (!command) throw new Error(`question ${question} has no command ${index} of ${tool}`);
    executed.add(command);
    const text = Object.entries(at).reduce((line, [theirs, ours]) => {
      expect(line).to.include(theirs);
      return line.replaceAll(theirs, ours);
    }, command.text);
    if (tool === 'sql') {
      return withDatabase(readConfig(environment()), async ({ pool }) => {
        const { rows } = await pool.query<object>(text);
        return rows.map((row) => JSON.stringify(row)).join('\n');
      });
    }
    const script = text.replaceAll('npx linklog', `"${process.execPath}" "${mainFile}"`);
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: folder.path,
      // oxlint-disable-next-line no-restricted-properties -- where bash finds kcat and jq
      env: { PATH: process.env['PATH'], KAFKA_TOPIC_PREFIX: '', ...environment() },
    });
    return stdout;
  };

  /** The values of each line or row without times, sorted. */
  const valuesOf = (output: string): readonly string[] =>
    linesOf(output)
      .map((line): readonly unknown[] =>
        line.startsWith('{') ? Object.values(JSON.parse(line) as object) : [line],
      )
      .map((values) => values.map(String).join(' ').split(/ +/))
      .map((values) => values.filter((value) => !/^\d{4}-\d\d-\d\d/.test(value)))
      .map((values) => values.sort().join(' '))
      .sort();

  /** Expects the documented answers of kcat on Kafka, or of SQL on the embedded log. */
  const expectAnswers = async (tool: 'kcat' | 'sql'): Promise<void> => {
    const { moments, oldShopId } = history;
    const may = { '2026-05-01': moments.created, '2026-06-01': tomorrow() };
    const answers: readonly (readonly [number, readonly string[], Record<string, string>?])[] = [
      [1, ['alice false']],
      [2, ['100']],
      [3, ['https://example.com/spring'], { '2026-05-19T10:42:00.000Z': moments.reported }],
      [4, [`${oldShopId} bob`]],
      [6, ['hundred', 'spring-sale']],
      [7, ['alice linklog.LinkUnblocked.v1', 'bob linklog.LinkBlocked.v1']],
      [11, ['1 news.example.com null', '2 null null'], may],
      [12, ['1 true', '3 false'], may],
    ];
    for (const [question, expected, at] of answers) {
      const answer = valuesOf(await run(question, tool, at));
      expect(answer, `question ${question}`).to.deep.equal(expected);
    }
    // A row for each day.
    expect(sumOf(valuesOf(await run(8, tool)).map(Number))).to.equal(103);
  };

  return { bench, folder, history, environment, run, expectAnswers };
};

describe('audit: twelve questions', () => {
  needs('jq', 'kcat', ...kafkaPrograms);

  describe('on the embedded log', () => {
    const { bench, folder, history, environment, run, expectAnswers } = describedHistory(
      () => ({}),
    );

    it('are answered by SQL', () => expectAnswers('sql'));

    it('1: who switched passwords off', async () => {
      const days = { '2026-05-19': history.moments.created, '2026-05-20': tomorrow() };
      const events = eventsOf(await run(1, 'linklog', days));
      expect(events).to.have.length(1);
      const data = { feature: 'passwords', on: false };
      expect(events[0]).to.deep.include({ actor: 'alice', data });
    });

    it('2: whether a link stopped at 100 clicks', async () => {
      const text = await run(2, 'linklog', { '2026-05-20': history.moments.ended });
      expect(text).to.match(/^state +expired\nexpired +click limit$/m);
      expect(text).to.match(/^clicks +100 of 100, and 0 by bots$/m);
      expect(text).to.match(/^ {2}linklog\.visits\.v1 \d:\d+$/m);
    });

    it('3: where a link pointed when it was reported', async () => {
      const at = { '2026-05-19T10:42:00Z': history.moments.reported };
      const text = await run(3, 'linklog', at);
      expect(text).to.match(/^destination +https:\/\/example\.com\/spring$/m);
      expect(text).to.match(/^blocked +\S+Z by bob: phishing$/m);
      expect(text).to.match(/^clicks +3, and 1 by bots$/m);
      expect(text).to.match(/^triggers +link 3$/m);
    });

    it('4: which keys were revoked, and by whom', async () => {
      const at = { '2026-05-01': history.moments.created };
      const [event, ...more] = eventsOf(await run(4, 'linklog', at));
      expect(more).to.deep.equal([]);
      expect(event).to.include({ subject: history.oldShopId, actor: 'bob' });
    });

    it('5: what usage a key had, and whether it was exhausted', async () => {
      const text = await run(5, 'linklog', { '2026-05-15T16:00:00Z': history.moments.used });
      expect(text).to.match(new RegExp(`^key +${history.websiteId}$`, 'm'));
      expect(text).to.match(/^plan +HOBBY$/m);
      expect(text).to.match(/^links +3 of 3 \(exhausted\)$/m);
      expect(JSON.parse(await run(5, 'sql'))).to.include({ links: 3 });
    });

    it('6: which links a request created', async () => {
      const events = eventsOf(await run(6, 'linklog'));
      expect(events.map(({ subject }) => subject)).to.have.members(['spring-sale', 'hundred']);
    });

    it('7: who blocked a link, and whether it was unblocked', async () => {
      const text = await run(7, 'linklog');
      expect(text).to.match(/blocked +bob .* phishing\n.* unblocked +alice .* a mistake\n/);
    });

    it('8: how many clicks a link had per day, also as CSV', async () => {
      const days = linesOf(await run(8, 'linklog')).map(
        (line) => JSON.parse(line) as { clicks: number; bots: number },
      );
      expect(sumOf(days.map(({ clicks }) => clicks))).to.equal(3);
      expect(sumOf(days.map(({ bots }) => bots))).to.equal(1);
      await run(8, 'linklog', {}, 1);
      const rows = linesOf(readFileSync(path.join(folder.path, 'visits.csv'), 'utf8'));
      expect(rows).to.have.length(1 + 104);
    });

    it('9: whether a rebuild and a rollback change the numbers, and the tables match the log', async () => {
      // 104 visits, and the events of links, which may have opening balances.
      expect(await run(9, 'linklog', {}, 1)).to.match(/^Rebuilt stats: 110 events/);
      expect(await run(9, 'linklog', {}, 2)).to.match(/^Rolled back stats/);
      expect(await run(9, 'linklog')).to.include('every row matches the log');
    });

    it('10: whether old events were altered', async () => {
      await run(10, 'linklog');
      expect(await run(10, 'linklog', {}, 1)).to.match(/^Intact: \d+ events are as sealed;/);
    });

    it('11 and 12: where the visitors of a link came from, and how many were bots', async () => {
      const may = { '2026-05-01': history.moments.created, '2026-06-01': tomorrow() };
      const numbers = await run(11, 'linklog', may);
      expect(numbers).to.match(/^COUNTRIES +CLICKS\n\(not recorded\) +3$/m);
      expect(numbers).to.match(/^\(not recorded\) +2\nnews\.example\.com +1$/m);
      const visits = linesOf(await run(11, 'linklog', may, 1));
      expect(visits.sort()).to.deep.equal(['1 null news.example.com', '2 null null']);
      expect(linesOf(await run(12, 'linklog', may))).to.deep.equal(['3 false', '1 true']);
    });

    it('are answered without unreadable records, which are reported', async () => {
      await withDatabase(readConfig(environment()), ({ log }) =>
        log.append(topics.platform.name, [{ key: 'platform', value: 'no event' }]),
      );
      const args = ['audit', 'replay', '--topic', 'platform', '--type', 'FeatureSwitched'];
      const { exitCode, stdout, stderr } = await startLinklogCli(args, {
        ...{ DATA_DIR: bench.product.dataDir },
      }).ended;
      expect(exitCode).to.equal(1);
      expect(eventsOf(stdout)).to.have.length(1);
      expect(stderr).to.match(
        /^linklog: linklog\.platform\.v1\/0 at offset \d+: .*not JSON\nlinklog: 1 unreadable record omitted\n/,
      );
    });
  });

  describe('on Kafka', () => {
    const kafka = kafkaFixture('questions');
    const { history, run, expectAnswers } = describedHistory(() => ({
      ...{ KAFKA_BROKERS: kafka.brokers, KAFKA_TOPIC_PREFIX: kafka.prefix },
    }));

    it('are answered by kcat', () => expectAnswers('kcat'));

    it('are answered by the same commands', async () => {
      const text = await run(2, 'linklog', { '2026-05-20': history.moments.ended });
      expect(text).to.match(/^state +expired\nexpired +click limit$/m);
      expect(await run(7, 'linklog')).to.match(/blocked +bob .* phishing\n.* unblocked +alice /);
    });
  });

  // A suite, because mocha runs tests before suites.
  describe('of the document', () => {
    it('are twelve, and all their commands were run', () => {
      expect(new Set(commands.map(({ question }) => question)).size).to.equal(12);
      const missing = commands.filter((command) => !executed.has(command));
      expect(missing.map(({ text }) => text)).to.deep.equal([]);
    });
  });
});
