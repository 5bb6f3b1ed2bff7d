/** Concurrent imports of the same files, and kills: every link and visit must be imported exactly once. */
import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { ExportedLink } from '../../../schemas/http/export.js';
import type {
  ImportedRow,
  ImportListResponse,
  ImportResponse,
} from '../../../schemas/http/imports.js';
import { withDatabase } from '../../tools/cli/database.js';
import { readConfig } from '../../config/config.js';
import { groupBy } from '../../platform/group-by.js';
import { runLinklogCli } from '../support/command-line.js';
import { sendRequest } from '../support/http.js';
import { csvFile, yourlsDump, type DumpedLink, type DumpedVisit } from '../support/import-files.js';
import { seededRandom, type Random } from '../support/random.js';
import { eventually } from '../support/waiting.js';
import type { FeedTarget } from './feed-target.js';

const account = 'imports';
/** For the end of imports, and for their projection. */
const finalMs = 300_000;

const bearer = (key: string): Record<string, string> => ({ Authorization: `Bearer ${key}` });

const readText = async (target: FeedTarget, path: string, key: string): Promise<string> => {
  const response = await sendRequest(`${target.apis()[0]}${path}`, { headers: bearer(key) });
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${response.text}`);
  return response.text;
};

const jsonLines = (text: string): readonly unknown[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);

const listImports = async (target: FeedTarget, key: string): Promise<readonly ImportResponse[]> =>
  (JSON.parse(await readText(target, '/v2/imports', key)) as ImportListResponse).imports;

/** Waits until no import runs. @returns all imports of the account */
const importsAtEnd = async (
  target: FeedTarget,
  key: string,
): Promise<readonly ImportResponse[]> => {
  const isIdle = async (): Promise<boolean> => {
    await sleep(200);
    return (await listImports(target, key)).every(({ status }) => status !== 'running');
  };
  await eventually('imports end', isIdle, finalMs);
  return listImports(target, key);
};

export interface ImportPlan {
  /** Links of the dump of YOURLS, and of the CSV file. */
  readonly links: number;
  /** Rows of the log of YOURLS. */
  readonly visits: number;
  /** A third of them during uploads. */
  readonly kills: number;
  readonly seed: number;
}

export interface ImportResult {
  readonly broken: readonly string[];
  /** Imports that ran, those included whose upload got no response. */
  readonly imports: number;
}

interface SourceFile {
  readonly name: string;
  readonly query: string;
  readonly text: string;
  readonly links: readonly DumpedLink[];
  readonly visits: readonly DumpedVisit[];
}

/** The time of an upload while processes are killed (ms). */
const uploadMs = 1_500;
const uploadChunks = 30;
/** The longest time from a progress that was waited for to the kill (ms). */
const delayMs = 400;
const parallelRequests = 16;

/** The body of an upload, in `ms` or as fast as it is read. `beforeEnd` holds back its last chunk. */
async function* paced(
  text: string,
  ms: number,
  beforeEnd: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  const size = Math.ceil(bytes.length / uploadChunks);
  for (let at = 0; at < bytes.length; at += size) {
    if (at + size >= bytes.length) await beforeEnd();
    yield bytes.subarray(at, at + size);
    if (ms > 0) await sleep(ms / uploadChunks);
  }
}

/** Uploads files until they are accepted, and kills processes meanwhile. */
const importUnderKills = async (
  target: FeedTarget,
  plan: ImportPlan,
  key: string,
  files: readonly SourceFile[],
): Promise<void> => {
  const random = seededRandom(plan.seed);
  let kills = 0;
  const uploadKills = Math.ceil(plan.kills / 3);
  let uploads = 0;
  let accepted = 0;

  /** @returns whether the file was accepted */
  const upload = async (
    { query, text }: SourceFile,
    own: Random,
    isHeld: boolean,
  ): Promise<boolean> => {
    const apis = target.apis();
    const beforeEnd = async (): Promise<void> => {
      while (isHeld && kills < uploadKills) await sleep(50);
    };
    uploads += 1;
    try {
      const response = await fetch(`${apis[own.below(apis.length)]}/v2/imports?${query}`, {
        method: 'POST',
        headers: bearer(key),
        body: paced(text, kills < uploadKills ? uploadMs : 0, beforeEnd),
        duplex: 'half',
      });
      if (response.status === 202) return true;
      const body = await response.text();
      // Uploads that a kill interrupted count towards the limit of an account for 20 s.
      if (response.status !== 503) throw new Error(`the upload got ${response.status} ${body}`);
    } catch (error) {
      // `fetch` reports a connection that a kill closed.
      if (!(error instanceof TypeError)) throw error;
    } finally {
      uploads -= 1;
    }
    return false;
  };
  const uploadUntilAccepted = async (file: SourceFile, index: number): Promise<void> => {
    const own = seededRandom(plan.seed + 1 + index);
    // The end of the first file can coincide with a kill.
    while (!(await upload(file, own, index > 0))) await sleep(own.between(50, 300));
    accepted += 1;
  };
  const isReceived = (): boolean => accepted === 2 * files.length;

  const total = files.reduce((sum, { links, visits }) => sum + 2 * links.length + visits.length, 0);
  const killAll = async (): Promise<void> => {
    for (; kills < plan.kills; kills += 1) {
      if (kills < uploadKills) {
        await eventually('a file is uploaded', () => uploads > 0 || isReceived(), finalMs);
        await sleep(random.between(0, uploadMs));
      } else {
        const due = ((kills - uploadKills + 0.2) / (plan.kills - uploadKills)) * total;
        const isDue = async (): Promise<boolean> => {
          const imports = await listImports(target, key);
          const done = imports.reduce((sum, { rows, visits }) => sum + rows + visits, 0);
          const isIdle = isReceived() && imports.every(({ status }) => status !== 'running');
          return done >= due || isIdle;
        };
        await eventually('imports make progress', isDue, finalMs);
        await sleep(random.between(0, delayMs));
      }
      await target.kill(random, random.below(4) === 0 ? undefined : 'api');
    }
  };
  const uploading = files.flatMap((file) => [file, file]).map(uploadUntilAccepted);
  await Promise.all([...uploading, killAll()]);
};

/** Compares the outcomes of all imports of a file. */
const checkOutcomes = async (
  target: FeedTarget,
  key: string,
  { name, links, visits }: SourceFile,
  imports: readonly ImportResponse[],
): Promise<readonly string[]> => {
  const broken: string[] = [];
  const codes = links.map(({ code }) => code);
  const createdBy = new Map<string, number>();
  for (const { id, status, rows, created, existing, failed } of imports) {
    if (status !== 'done') broken.push(`${name}: the import ${id} is ${status}`);
    const outcomes = jsonLines(
      await readText(target, `/v2/imports/${id}/rows`, key),
    ) as readonly ImportedRow[];
    const found = outcomes.map(({ code }) => code ?? '');
    if (found.join() !== codes.join())
      broken.push(`${name}: ${id} has not each row once, in order`);
    const count = (wanted: string): number =>
      outcomes.filter(({ outcome }) => outcome === wanted).length;
    const expected = [rows, created, existing, failed].join();
    const counted = [outcomes.length, count('created'), count('exists'), 0];
    if (counted.join() !== expected) {
      broken.push(`${name}: ${id} has the outcomes ${counted.join()}, and the counts ${expected}`);
    }
    for (const { code, outcome } of outcomes) {
      if (code !== null && outcome === 'created') {
        createdBy.set(code, (createdBy.get(code) ?? 0) + 1);
      }
    }
  }
  for (const code of codes) {
    const times = createdBy.get(code) ?? 0;
    if (times !== 1) broken.push(`${name}: ${code} was created by ${times} imports`);
  }
  const imported = imports.reduce((sum, { visits: count }) => sum + count, 0);
  if (imported !== visits.length) {
    broken.push(`${name}: ${imported} visits of ${visits.length} were imported`);
  }
  return broken;
};

interface LinkStats {
  readonly clickCount: number;
  readonly importedClicks?: number;
  readonly period: { readonly clickCount: number };
}

/** Compares the links in the ledger, the projections and the edge, and their counts. */
const checkLinks = async (
  target: FeedTarget,
  key: string,
  files: readonly SourceFile[],
): Promise<readonly string[]> => {
  const broken: string[] = [];
  const links = files.flatMap((file) => file.links);
  const visited = groupBy(
    files.flatMap(({ visits }) => visits),
    ({ code }) => code,
  );
  const expectedClicks = links.reduce((sum, { clicks }) => sum + clicks, 0);
  const readExport = async (): Promise<readonly ExportedLink[]> =>
    jsonLines(await readText(target, '/v2/export', key)) as readonly ExportedLink[];
  let exported = await readExport();
  const isProjected = (): boolean =>
    exported.length >= links.length &&
    exported.reduce((sum, { clicks }) => sum + clicks, 0) >= expectedClicks;
  // The comparison below names what is missing at the deadline.
  for (const deadline = performance.now() + finalMs; !isProjected();) {
    if (performance.now() > deadline) break;
    await sleep(500);
    exported = await readExport();
  }
  const found = new Map(exported.map((link) => [link.code, link]));
  if (exported.length !== links.length) broken.push(`${exported.length} links of ${links.length}`);
  const ledger = await withDatabase(readConfig(target.environment), async ({ pool }) => {
    const { rows } = await pool.query<{ subject: string }>(
      'SELECT subject FROM ledger.links WHERE account = $1',
      [account],
    );
    return new Set(rows.map(({ subject }) => subject));
  });
  if (ledger.size !== links.length) broken.push(`the ledger has ${ledger.size} of ${links.length}`);

  const period = 'from=2023-12-31&to=2025-01-01&interval=month';
  const checkLink = async (link: DumpedLink): Promise<void> => {
    const { code, url, createdAt, clicks } = link;
    const projected = found.get(code);
    const actual = [projected?.url, projected?.createdAt, projected?.clicks].join();
    const expected = [url, createdAt, clicks].join();
    if (actual !== expected) broken.push(`${code} is ${actual} and not ${expected}`);
    if (!ledger.has(code)) broken.push(`the ledger lacks ${code}`);
    const stats = JSON.parse(
      await readText(target, `/v2/stats/${code}?include=timeseries&${period}`, key),
    ) as LinkStats;
    const { clickCount, importedClicks = 0 } = stats;
    const counted = [clickCount, importedClicks, stats.period.clickCount].join();
    const visits = visited.get(code)?.length ?? 0;
    const counts = [clicks, clicks - visits, visits];
    if (counted !== counts.join()) broken.push(`${code} has ${counted} and not ${counts.join()}`);
    // HEAD counts as no click.
    const { headers } = await sendRequest(`${target.edge()}/${code}`, { method: 'HEAD' });
    if (headers.location !== url) broken.push(`${code} redirects to ${headers.location ?? '?'}`);
  };
  await pLimit(parallelRequests).map(links, checkLink);
  return broken;
};

/** Imports each of two files twice, concurrently and under kills, and then once more. */
export const runImportRounds = async (
  target: FeedTarget,
  plan: ImportPlan,
): Promise<ImportResult> => {
  const key = await target.createKey(account);
  const dump = yourlsDump(plan);
  const csv = csvFile(plan.links);
  const files: readonly SourceFile[] = [
    { ...dump, name: 'yourls', query: 'format=yourls-sql&visits=1' },
    { ...csv, name: 'csv', query: 'format=csv', visits: [] },
  ];
  await importUnderKills(target, plan, key, files);
  await importsAtEnd(target, key);
  await importUnderKills(target, { ...plan, kills: 0 }, key, files);
  const imports = await importsAtEnd(target, key);
  const broken: string[] = [];
  for (const file of files) {
    const ofFile = imports.filter(({ format }) => format.startsWith(file.name));
    broken.push(...(await checkOutcomes(target, key, file, ofFile)));
  }
  broken.push(...(await checkLinks(target, key, files)));
  const usage = JSON.parse(await readText(target, '/v2/usage', key)) as {
    readonly links: { readonly used: number };
  };
  const expectedLinks = 2 * plan.links;
  if (usage.links.used !== expectedLinks) {
    broken.push(`${usage.links.used} links of the month were spent for ${expectedLinks} links`);
  }
  const verified = await runLinklogCli(['audit', 'verify'], target.environment);
  if (verified.exitCode !== 0) broken.push(`audit verify: ${verified.stdout}${verified.stderr}`);
  return { broken, imports: imports.length };
};
