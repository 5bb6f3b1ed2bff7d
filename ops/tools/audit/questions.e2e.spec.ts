import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { defaultPlanTable } from '../../../schemas/plans.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { createLogger } from '../../platform/logging.js';
import { createPool, type Pool } from '../../platform/postgres/pool.js';
import { projectFile } from '../../platform/files/project-file.js';
import {
  sendRequest,
  concurrently,
  statuses,
  type RequestOptions,
} from '../../test/support/http.js';
import { kafkaStartMs, testKafka, type TestKafka } from '../../test/support/kafka.js';
import { startProduct, type Product } from '../../test/support/product.js';
import { waitUntilProjected } from '../../test/support/projected.js';

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
  readonly correlationid?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

const eventsOf = (text: string): Event[] => linesOf(text).map((line) => JSON.parse(line) as Event);

const tomorrow = (): string => new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);

for (const logName of ['embedded', 'on Kafka'] as const) {
  describe(`audit: twelve questions, log ${logName}`, function () {
    this.timeout(120_000);
    let product: Product;
    let kafka: TestKafka | null = null;
    let pool: Pool;
    let folder: string;
    let env: Record<string, string>;
    let website: { readonly id: string };
    let oldShop: { readonly id: string };
    /** The times of this run, which replace those of the document. */
    const moments = { created: '', used: '', reported: '', ended: '' };

    const now = async (): Promise<string> => {
      // No event before or after has the same millisecond.
      await sleep(3);
      const moment = new Date().toISOString();
      await sleep(3);
      return moment;
    };

    const admin = async (actor: string, method: string, where: string, body?: object) => {
      const answer = await sendRequest(`${product.admin}/admin${where}`, {
        method,
        headers: { Authorization: `Bearer ${product.adminToken}`, 'X-Actor': actor },
        ...(body && { body }),
      });
      expect(answer.status, answer.text).to.be.within(200, 201);
      return answer.json() as { id: string; key: string };
    };

    const visit = (code: string, options: RequestOptions = {}) =>
      sendRequest(`${product.edge}/${code}`, options);

    before(async function () {
      this.timeout(kafkaStartMs);
      folder = await mkdtemp(path.join(tmpdir(), 'linklog-questions-'));
      const { plans } = defaultPlanTable;
      const table = {
        ...defaultPlanTable,
        plans: { ...plans, HOBBY: { ...plans.HOBBY, monthlyLinks: 3 } },
      };
      const plansFile = path.join(folder, 'plans.json');
      await writeFile(plansFile, JSON.stringify(table));
      if (logName === 'on Kafka') kafka = await testKafka('questions');
      const onKafka = kafka && { KAFKA_BROKERS: kafka.brokers, KAFKA_TOPIC_PREFIX: kafka.prefix };
      const settings = { PLANS_FILE: plansFile, ...onKafka };
      product = await startProduct({ env: settings }, false);
      env = { ...settings, DATA_DIR: product.dataDir };
      const url = await runningPostgresUrl(product.dataDir);
      if (url === null) throw new Error('The embedded PostgreSQL does not run');
      pool = createPool({ url, name: 'test', max: 2, logger: createLogger('silent') });
      await createHistory();
    });

    after(async () => {
      try {
        await pool.end();
        await product.stop();
      } finally {
        await product.cleanup();
        await kafka?.drop();
        await rm(folder, { recursive: true, force: true });
      }
    });

    const createHistory = async (): Promise<void> => {
      const key = await admin('alice', 'POST', '/keys', { name: 'website', plan: 'HOBBY' });
      website = key;
      oldShop = await admin('alice', 'POST', '/keys', { name: 'old shop', plan: 'FREE' });
      moments.created = await now();
      const headers = { Authorization: `Bearer ${key.key}`, 'X-Request-Id': 'req-4711' };
      const urls = [
        { url: 'https://example.com/spring', alias: 'spring-sale' },
        { url: 'https://example.com/raffle', alias: 'hundred', maxClicks: 100 },
      ];
      const batch = await sendRequest(`${product.api}/v2/shorten/batch`, {
        method: 'POST',
        headers,
        body: { urls },
      });
      expect(batch.text).to.match(/"success":true.*"success":true/);
      const third = { method: 'POST', headers: { Authorization: headers.Authorization } };
      for (const status of [201, 429]) {
        const body = { url: 'https://example.com/' };
        const { status: actual } = await sendRequest(`${product.api}/v2/shorten`, {
          ...third,
          body,
        });
        expect(actual).to.equal(status);
      }
      moments.used = await now();
      const clicks = await concurrently(105, () => visit('hundred'));
      expect(statuses(clicks)).to.deep.equal({ 302: 100, 410: 5 });
      for (let index = 0; index < 2; index += 1) await visit('spring-sale');
      await visit('spring-sale', { headers: { Referer: 'https://news.example.com/' } });
      await visit('spring-sale', { headers: { 'User-Agent': 'Googlebot/2.1' } });
      await admin('alice', 'PATCH', '/platform', { features: { passwords: false } });
      await admin('bob', 'DELETE', `/keys/${oldShop.id}`);
      await admin('bob', 'POST', '/links/spring-sale/block', { reason: 'phishing' });
      moments.reported = await now();
      await admin('alice', 'POST', '/links/spring-sale/unblock', { reason: 'a mistake' });
      await waitUntilProjected(product.edges);
      moments.ended = await now();
    };

    /** Runs a command of the document with the times of this run. */
    const run = async (
      question: number,
      tool: Tool,
      {
        at = {},
        index = 0,
      }: { readonly at?: Record<string, string>; readonly index?: number } = {},
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
        const { rows } = await pool.query<object>(text);
        return rows.map((row) => JSON.stringify(row)).join('\n');
      }
      const script = text.replaceAll('npx linklog', `"${process.execPath}" "${mainFile}"`);
      const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
        cwd: folder,
        // oxlint-disable-next-line no-restricted-properties -- where bash finds kcat and jq
        env: { PATH: process.env['PATH'], KAFKA_TOPIC_PREFIX: '', ...env },
      });
      return stdout;
    };

    /** Runs the alternative command: kcat for Kafka, SQL for the embedded log. */
    const runAlternative = (question: number, at: Record<string, string> = {}): Promise<string> =>
      run(question, kafka ? 'kcat' : 'sql', { at });

    it('who switched passwords off', async () => {
      const days = { '2026-05-19': moments.created, '2026-05-20': tomorrow() };
      const events = eventsOf(await run(1, 'linklog', { at: days }));
      expect(events).to.have.length(1);
      expect(events[0]).to.deep.include({
        actor: 'alice',
        data: { feature: 'passwords', on: false },
      });
      const [line = ''] = linesOf(await runAlternative(1));
      expect(JSON.parse(line)).to.deep.equal({
        time: events[0]?.time,
        actor: 'alice',
        on: false,
      });
    });

    it('whether a link stopped at 100 clicks', async () => {
      const text = await run(2, 'linklog', { at: { '2026-05-20': moments.ended } });
      expect(text).to.match(/^state +expired$/m);
      expect(text).to.match(/^expired +click limit$/m);
      expect(text).to.match(/^clicks +100 of 100, and 0 by bots$/m);
      expect(text).to.match(/^ {2}linklog\.visits\.v1 \d:\d+$/m);
      expect(/\d+/.exec(await runAlternative(2))?.[0]).to.equal('100');
    });

    it('where a link pointed when it was reported', async () => {
      const text = await run(3, 'linklog', { at: { '2026-05-19T10:42:00Z': moments.reported } });
      expect(text).to.match(/^destination +https:\/\/example\.com\/spring$/m);
      expect(text).to.match(/^blocked +\S+Z by bob: phishing$/m);
      expect(text).to.match(/^clicks +3, and 1 by bots$/m);
      expect(text).to.match(/^triggers +link 3$/m);
      const at = { '2026-05-19T10:42:00.000Z': moments.reported };
      expect(await runAlternative(3, at)).to.include('https://example.com/spring');
    });

    it('which keys were revoked, and by whom', async () => {
      const [event, ...more] = eventsOf(
        await run(4, 'linklog', { at: { '2026-05-01': moments.created } }),
      );
      expect(more).to.deep.equal([]);
      expect(event).to.include({ subject: oldShop.id, actor: 'bob' });
      const [line = ''] = linesOf(await runAlternative(4));
      expect(JSON.parse(line)).to.deep.equal({
        time: event?.time,
        subject: oldShop.id,
        actor: 'bob',
      });
    });

    it('what usage a key had, and whether it was exhausted', async () => {
      const at = { '2026-05-15T16:00:00Z': moments.used };
      const text = await run(5, 'linklog', { at });
      expect(text).to.match(new RegExp(`^key +${website.id}$`, 'm'));
      expect(text).to.match(/^plan +HOBBY$/m);
      expect(text).to.match(/^links +3 of 3 \(exhausted\)$/m);
      const [row = ''] = linesOf(await run(5, 'sql'));
      expect(JSON.parse(row)).to.include({ links: 3 });
    });

    it('which links a request created', async () => {
      const events = eventsOf(await run(6, 'linklog'));
      expect(events.map(({ subject }) => subject)).to.have.members(['spring-sale', 'hundred']);
      const others = await runAlternative(6);
      expect(others).to.include('spring-sale').and.include('hundred');
    });

    it('who blocked a link, and whether it was unblocked', async () => {
      const text = await run(7, 'linklog');
      expect(text).to.match(/blocked +bob .* phishing\n.* unblocked +alice .* a mistake\n/);
      const others = eventsOf(await runAlternative(7));
      expect(others.map(({ actor }) => actor)).to.deep.equal(['bob', 'alice']);
    });

    it('how many clicks a link had per day', async () => {
      const days = linesOf(await run(8, 'linklog')).map(
        (line) => JSON.parse(line) as { clicks: number; bots: number },
      );
      const sum = (valueOf: (day: { clicks: number; bots: number }) => number): number =>
        days.reduce((total, day) => total + valueOf(day), 0);
      expect([sum(({ clicks }) => clicks), sum(({ bots }) => bots)]).to.deep.equal([3, 1]);
      const counts = linesOf(await runAlternative(8)).map((line) =>
        Number(kafka ? /\d+/.exec(line)?.[0] : (JSON.parse(line) as { clicks: number }).clicks),
      );
      expect(counts.reduce((total, clicks) => total + clicks, 0)).to.equal(103);
    });

    if (logName === 'embedded') {
      it('which visits a link had, as CSV', async () => {
        await run(8, 'linklog', { index: 1 });
        const rows = linesOf(readFileSync(path.join(folder, 'visits.csv'), 'utf8'));
        expect(rows).to.have.length(1 + 104);
      });

      it('whether a rebuild and a rollback change the numbers', async () => {
        // 104 visits, and the events of links, which may have opening balances.
        expect(await run(9, 'linklog', { index: 1 })).to.match(/^Rebuilt stats: 110 events/);
        expect(await run(9, 'linklog', { index: 2 })).to.match(/^Rolled back stats/);
      });
    }

    it('whether the tables match the log', async () => {
      expect(await run(9, 'linklog')).to.include('every row matches the log');
    });

    it('whether old events were altered', async () => {
      await run(10, 'linklog');
      expect(await run(10, 'linklog', { index: 1 })).to.match(/^Intact: \d+ events are as sealed;/);
    });

    const may = (): Record<string, string> => ({
      '2026-05-01': moments.created,
      '2026-06-01': tomorrow(),
    });

    it('where the visitors of a link came from', async () => {
      const numbers = await run(11, 'linklog', { at: may() });
      expect(numbers).to.match(/^COUNTRIES +CLICKS\n\(not recorded\) +3$/m);
      expect(numbers).to.match(/^\(not recorded\) +2\nnews\.example\.com +1$/m);
      const counts = ['1 null news.example.com', '2 null null'];
      const visitLines = linesOf(await run(11, 'linklog', { at: may(), index: 1 }));
      expect(visitLines.map((line) => line.trim()).sort()).to.deep.equal(counts);
      const others = linesOf(await runAlternative(11, may())).map((line) => {
        if (kafka) return line.trim();
        const row = JSON.parse(line) as Record<'country' | 'referrer' | 'clicks', unknown>;
        return `${String(row.clicks)} ${String(row.country)} ${String(row.referrer)}`;
      });
      expect(others.sort()).to.deep.equal(counts);
    });

    it('how many of them were bots', async () => {
      const lines = linesOf(await run(12, 'linklog', { at: may() })).map((line) => line.trim());
      expect(lines).to.deep.equal(['3 false', '1 true']);
      const others = linesOf(await runAlternative(12, may())).map((line) => {
        if (kafka) return line.trim();
        const { bot, visits } = JSON.parse(line) as { bot: boolean; visits: number };
        return `${visits} ${bot}`;
      });
      expect(others).to.deep.equal(lines);
    });
  });
}

describe('audit: document of the twelve questions', () => {
  it('contains twelve questions, and all commands were run', () => {
    expect(new Set(commands.map(({ question }) => question)).size).to.equal(12);
    const missing = commands.filter((command) => !executed.has(command));
    expect(missing.map(({ text }) => text)).to.deep.equal([]);
  });
});
