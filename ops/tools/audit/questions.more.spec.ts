import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createPeople } from '../../../command-api/people/handler.js';
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

const linesOf = (text: string): string[] =>
  text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));

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

  const environment = (): Record<string, string> => ({
    ...{ ...settings(), DATA_DIR: bench.product.dataDir },
  });

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
    const referred = { Referer: 'https://news.example.com/' };
    for (const headers of [{}, {}, referred, { 'User-Agent': 'Googlebot/2.1' }]) {
      await bench.visit('spring-sale', { headers });
    }
    await act('alice', 'PATCH', '/platform', { features: { passwords: false } });
    await act('bob', 'DELETE', `/keys/${oldShop.id}`);
    await act('bob', 'POST', '/links/spring-sale/block', { reason: 'phishing' });
    const reported = await now();
    await act('alice', 'POST', '/links/spring-sale/unblock', { reason: 'a mistake' });
    const person = await withDatabase(readConfig(environment()), ({ pool, outbox }) =>
      createPeople(pool, outbox).signIn({
        profile: {
          ...{ issuer: 'https://id.example.com', identity: 'maria', name: 'María', email: null },
        },
        groupRoles: new Map([['acme', 'owner']]),
        ...{ invitation: null, mayGetAccount: false, request: { requestId: 'req-4712' } },
      }),
    );
    if (person.type !== 'signedIn') throw new Error(`the sign-in is ${person.type}`);
    await waitUntilProjected(bench.product.edges);
    const moments: Moments = { created, used, reported, ended: await now() };
    return { websiteId: website.id, oldShopId: oldShop.id, personId: person.id, moments };
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
    const { moments, oldShopId, personId } = history;
    const people = { '2026-05-15T16:00:00.000Z': moments.ended };
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
      [13, [`linklog.PersonAdded.v1 owner ${personId} ${personId}`], people],
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

describe('audit: thirteen questions', () => {
  needs('jq', 'kcat', ...kafkaPrograms);

  describe('on the embedded log', () => {
    const { bench, folder, history, environment, run, expectAnswers } = describedHistory(
      () => ({}),
    );

    it('are answered by SQL', () => expectAnswers('sql'));

    it('are answered by linklog', async () => {
      const { moments, oldShopId, websiteId, personId } = history;
      const { created, used, reported, ended } = moments;
      const may = { '2026-05-01': created, '2026-06-01': tomorrow() };
      const answers: readonly (readonly [
        number,
        number,
        Record<string, string>,
        ...(RegExp | string)[],
      ])[] = [
        [
          ...([1, 0, { '2026-05-19': created, '2026-05-20': tomorrow() }] as const),
          /^\{.*"actor":"alice".*"data":\{"feature":"passwords","on":false\}.*\}\n$/,
        ],
        [
          ...([2, 0, { '2026-05-20': ended }] as const),
          ...[/^state +expired\nexpired +click limit$/m, /^clicks +100 of 100, and 0 by bots$/m],
          /^ {2}linklog\.visits\.v1 \d:\d+$/m,
        ],
        [
          ...([3, 0, { '2026-05-19T10:42:00Z': reported }] as const),
          /^destination +https:\/\/example\.com\/spring$/m,
          ...[/^blocked +\S+Z by bob: phishing$/m, /^clicks +3, and 1 by bots$/m],
          /^triggers +link 3$/m,
        ],
        [
          ...([4, 0, { '2026-05-01': created }] as const),
          ...[/^\{.*"actor":"bob".*\}\n$/, `"subject":"${oldShopId}"`],
        ],
        [
          ...([5, 0, { '2026-05-15T16:00:00Z': used }] as const),
          ...[`\nkey          ${websiteId}\n`, /^plan +HOBBY$/m, /^links +3 of 3 \(exhausted\)$/m],
        ],
        [6, 0, {}, '"subject":"spring-sale"', '"subject":"hundred"'],
        [7, 0, {}, /blocked +bob .* phishing\n.* unblocked +alice .* a mistake\n/],
        // 104 visits, and the events of links, which may have opening balances.
        [9, 1, {}, /^Rebuilt stats: 110 events/],
        [9, 2, {}, /^Rolled back stats/],
        [9, 0, {}, 'every row matches the log'],
        [10, 0, {}],
        [10, 1, {}, /^Intact: \d+ events are as sealed;/],
        [
          ...([11, 0, may] as const),
          ...[/^COUNTRIES +CLICKS\n\(not recorded\) +3$/m, /^news\.example\.com +1$/m],
        ],
        [11, 1, may, '1 null news.example.com', '2 null null'],
        [12, 0, may, '3 false', '1 true'],
        [
          ...([13, 0, { '2026-05-15T16:00:00Z': ended }] as const),
          new RegExp(`^${personId} +María +owner +group `, 'm'),
        ],
      ];
      for (const [question, index, at, ...expected] of answers) {
        const text = await run(question, 'linklog', at, index);
        for (const part of expected) {
          if (typeof part === 'string') expect(text, `question ${question}`).to.include(part);
          else expect(text, `question ${question}`).to.match(part);
        }
      }
      expect(JSON.parse(await run(5, 'sql'))).to.include({ links: 3 });
    }).timeout(180_000);

    it('are answered with the clicks of a link per day, also as CSV', async () => {
      const days = linesOf(await run(8, 'linklog')).map(
        (line) => JSON.parse(line) as { clicks: number; bots: number },
      );
      expect(sumOf(days.map(({ clicks }) => clicks))).to.equal(3);
      expect(sumOf(days.map(({ bots }) => bots))).to.equal(1);
      await run(8, 'linklog', {}, 1);
      const rows = linesOf(readFileSync(path.join(folder.path, 'visits.csv'), 'utf8'));
      expect(rows).to.have.length(1 + 104);
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
      expect(linesOf(stdout)).to.have.length(1);
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
    it('are thirteen, and all their commands were run', () => {
      expect(new Set(commands.map(({ question }) => question)).size).to.equal(13);
      const missing = commands.filter((command) => !executed.has(command));
      expect(missing.map(({ text }) => text)).to.deep.equal([]);
    });
  });
});
