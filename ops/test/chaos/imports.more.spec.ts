import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { ExportedLink } from '../../../schemas/http/export.js';
import type { ImportedRow, ImportListResponse } from '../../../schemas/http/imports.js';
import { runLinklogCli } from '../support/command-line.js';
import { fixture } from '../support/fixture.js';
import { sendRequest } from '../support/http.js';
import { seededRandom } from '../support/random.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { startEmbeddedTarget } from './feed-target.js';

const finalMs = 120_000;
const visitsOfLink = 10;

const codesOf = (name: string): readonly string[] =>
  Array.from({ length: 500 }, (_, index) => `${name}-${index}`);
const urlOf = (code: string): string => `https://example.org/${code}`;

const time = '2024-03-01 12:00:00';
const insert = (table: string, rows: readonly string[]): string =>
  `INSERT INTO \`${table}\` VALUES ${rows.map((row) => `(${row})`).join()};\n`;

/** A dump as mysqldump writes it, with the log before the links. Every second link has 7 clicks without a visit. */
const yourls = {
  name: 'yourls',
  query: 'format=yourls-sql&visits=1',
  clicksAt: (index: number) => visitsOfLink + (index % 2) * 7,
  text: [
    '-- MySQL dump 10.19  Distrib 10.3.39-MariaDB, for debian-linux-gnu (x86_64)\n',
    'CREATE TABLE `yourls_log` (\n  `click_id` int(11) NOT NULL,\n  `click_time` datetime NOT NULL,\n',
    '  `shorturl` varchar(100) NOT NULL,\n  `referrer` varchar(200) NOT NULL,\n',
    '  `user_agent` varchar(255) NOT NULL,\n  `ip_address` varchar(41) NOT NULL,\n',
    '  `country_code` char(2) NOT NULL\n) ENGINE=InnoDB;\n',
    ...Array.from({ length: visitsOfLink }, (_, round) =>
      insert(
        'yourls_log',
        codesOf('yourls').map(
          (code, index) =>
            `${round * 500 + index + 1},'${time}','${code}','direct','curl','203.0.113.7','DE'`,
        ),
      ),
    ),
    'CREATE TABLE `yourls_url` (\n  `keyword` varchar(100) NOT NULL,\n  `url` text NOT NULL,\n',
    '  `title` text,\n  `timestamp` timestamp NOT NULL,\n  `ip` varchar(41) NOT NULL,\n',
    '  `clicks` int(10) unsigned NOT NULL\n) ENGINE=InnoDB;\n',
    insert(
      'yourls_url',
      codesOf('yourls').map(
        (code, index) =>
          `'${code}','${urlOf(code)}','It\\'s ${code}','${time}','203.0.113.7',${visitsOfLink + (index % 2) * 7}`,
      ),
    ),
  ].join(''),
};

const csv = {
  name: 'csv',
  query: 'format=csv',
  clicksAt: (index: number) => index,
  text: `code,url,clicks\n${codesOf('csv')
    .map((code, index) => `${code},${urlOf(code)},${index}\n`)
    .join('')}`,
};

const files = [yourls, csv];
type SourceFile = (typeof files)[number];

/** The body of an upload of a second. */
async function* slowly(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  const size = Math.ceil(bytes.length / 20);
  for (let at = 0; at < bytes.length; at += size) {
    yield bytes.subarray(at, at + size);
    await sleep(50);
  }
}

const jsonLines = (text: string): readonly unknown[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);

describe('chaos: imports', () => {
  const target = fixture(
    () => startEmbeddedTarget(),
    ({ stop }) => stop(),
  );

  it('create every link and visit once, by concurrent imports of the same files and kills', async () => {
    const seed = randomInt(1, 2 ** 30);
    const random = seededRandom(seed);
    const headers = { Authorization: `Bearer ${await target.createKey('imports')}` };
    const read = async (path: string): Promise<string> => {
      const { status, text } = await sendRequest(`${target.apis()[0]}${path}`, { headers });
      expect(status, text).to.equal(200);
      return text;
    };
    const listImports = async () =>
      (JSON.parse(await read('/v2/imports')) as ImportListResponse).imports;
    const areDone = async (): Promise<boolean> =>
      (await listImports()).every(({ status }) => status !== 'running');

    let accepted = 0;
    const upload = async ({ query, text }: SourceFile): Promise<void> => {
      for (;;) {
        try {
          const response = await fetch(`${target.apis()[0]}/v2/imports?${query}`, {
            ...{ method: 'POST', headers, body: slowly(text), duplex: 'half' },
          });
          // 503: uploads that a kill interrupted count towards the limit of an account for 20 s.
          expect(response.status).to.be.oneOf([202, 503]);
          if (response.status === 202) {
            accepted += 1;
            return;
          }
        } catch (error) {
          // `fetch` reports a connection that a kill closed.
          if (!(error instanceof TypeError)) throw error;
        }
        await sleep(200);
      }
    };
    const killAll = async (): Promise<void> => {
      await sleep(random.between(0, 1_000));
      await target.kill(random);
      // 2,000 rows and 5,000 visits are imported in all.
      for (const due of [1_000, 4_000]) {
        const isDue = async (): Promise<boolean> => {
          const imports = await listImports();
          const isOver = accepted === 4 && (await areDone());
          return isOver || imports.reduce((sum, { rows, visits }) => sum + rows + visits, 0) >= due;
        };
        await eventually('imports make progress', isDue, finalMs);
        await sleep(random.between(0, 400));
        await target.kill(random);
      }
    };
    await Promise.all([...[...files, ...files].map(upload), killAll()]);
    await eventually('imports end', areDone, finalMs);
    await Promise.all(files.map(upload));
    await eventually('imports end', areDone, finalMs);

    const imports = await listImports();
    for (const { name } of files) {
      const created: string[] = [];
      const ofFile = imports.filter(({ format }) => format.startsWith(name));
      for (const { id, status } of ofFile) {
        expect(status, `${id}, seed ${seed}`).to.equal('done');
        const rows = jsonLines(await read(`/v2/imports/${id}/rows`)) as readonly ImportedRow[];
        expect(rows.map(({ code }) => code)).to.deep.equal(codesOf(name));
        expect(rows.filter(({ outcome }) => !['created', 'exists'].includes(outcome))).to.be.empty;
        const ofImport = rows.filter(({ outcome }) => outcome === 'created');
        created.push(...ofImport.map(({ code }) => code ?? ''));
      }
      expect(created, `seed ${seed}`).to.have.members([...codesOf(name)]);
      const visits = ofFile.reduce((sum, row) => sum + row.visits, 0);
      expect(visits, `seed ${seed}`).to.equal(name === 'yourls' ? 500 * visitsOfLink : 0);
    }
    const expected = files.flatMap(({ name, clicksAt }) =>
      codesOf(name).map((code, index) => `${code} ${urlOf(code)} ${clicksAt(index)}`),
    );
    await eventuallyPasses(async () => {
      const links = jsonLines(await read('/v2/export')) as readonly ExportedLink[];
      const found = links.map(({ code, url, clicks }) => `${code} ${url} ${clicks}`);
      expect(found, `seed ${seed}`).to.have.members(expected);
    }, finalMs);
    expect(JSON.parse(await read('/v2/usage'))).to.have.nested.property('links.used', 1_000);
    const verified = await runLinklogCli(['audit', 'verify'], target.environment);
    expect(verified.exitCode, verified.stdout + verified.stderr).to.equal(0);
  }).timeout(300_000);
});
