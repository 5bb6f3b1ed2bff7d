import { createWriteStream } from 'node:fs';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import {
  conflictPolicies,
  importFormats,
  operatorsImportQuery,
  shlinkApi,
  type ImportedRow,
  type ImportResponse,
} from '../../../schemas/http/imports.js';
import { linklogCommand } from '../../platform/process/own-command.js';
import { retry } from '../../platform/concurrency/retry.js';
import { readKutt } from '../import-sources/kutt.js';
import { readShlink } from '../import-sources/shlink.js';
import { SourceApi } from '../import-sources/source-api.js';
import { oneOf, required } from './arguments.js';
import type { AdminClient, Query } from './client.js';
import type { Command, CommandContext } from './command.js';
import { CliError, isTemporary, messageOf } from './errors.js';
import { fieldsOf, readRows, rowLine } from './import-output.js';
import { interruptible } from './long-work.js';
import { count, counted, formatFields, plain, type Output } from './output.js';

const sources = ['shlink', 'kutt'] as const;
type Source = (typeof sources)[number];

interface ImportOptions {
  readonly from?: Source;
  readonly url?: string;
  readonly keyFile?: string;
  readonly format: string;
  readonly account: string;
  readonly domain?: string;
  readonly onConflict?: string;
  readonly encoding?: string;
  readonly dryRun?: true;
  readonly linkZone?: string;
  readonly visits?: true;
  readonly visitZone?: string;
}

/** Between requests for the progress of an import (ms). */
const pollMs = 500;

/** Failed rows that are printed after an import. */
const maxFailedRows = 20;

const failedOutcomes = ['conflict', 'invalid', 'reserved', 'unsafe', 'quota'] as const;

const formatOfSource: Readonly<Record<Source, string>> = {
  shlink: shlinkApi,
  kutt: 'kutt-json',
};

/** Checked here, because the service may respond before the file is sent. @throws CliError */
const queryOf = (options: ImportOptions): Query => {
  const { account, domain, onConflict, encoding, dryRun, linkZone, visits, visitZone } = options;
  const format = options.from ? formatOfSource[options.from] : options.format;
  const query = {
    ...{ account, format, domain, onConflict, encoding, linkZone, visitZone },
    ...{ dryRun: dryRun && '1', visits: visits && '1' },
  };
  const parsed = operatorsImportQuery.safeParse(query);
  if (parsed.success) return query;
  throw new CliError('USAGE', parsed.error.issues[0]?.message ?? 'the options are invalid');
};

/** A line on a terminal that is overwritten. */
const progressLine = () => {
  const { stderr } = process;
  return {
    show(text: string): void {
      if (stderr.isTTY) stderr.write(`\r\x1b[K${text}`);
    },
    clear(): void {
      if (stderr.isTTY) stderr.write('\r\x1b[K');
    },
  };
};
type ProgressLine = ReturnType<typeof progressLine>;

/** The name of stdin. */
const standardInput = '-';

interface Upload {
  readonly name: string;
  readonly bytes: Readable;
}

const cannotBeRead = (name: string, cause: unknown): CliError =>
  new CliError('REFUSED', `${name} cannot be read: ${messageOf(cause)}`, { cause });

/** Opens a file before a request is sent, so that its error is reported in any case. @throws CliError */
const openUpload = async (file: string): Promise<Upload> => {
  if (file === standardInput) return { name: 'stdin', bytes: process.stdin };
  try {
    const handle = await open(file);
    return { name: file, bytes: handle.createReadStream() };
  } catch (cause) {
    throw cannotBeRead(file, cause);
  }
};

/** @throws CliError */
async function* readBytes({ name, bytes }: Upload): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) yield chunk;
  } catch (cause) {
    throw cannotBeRead(name, cause);
  }
}

const reading = (sent: number): string => `${(sent / 1e6).toFixed(1)} MB sent`;

async function* countBytes(
  bytes: AsyncIterable<Uint8Array>,
  onProgress: (sent: number) => void,
): AsyncGenerator<Uint8Array> {
  let sent = 0;
  for await (const chunk of bytes) {
    sent += chunk.length;
    onProgress(sent);
    yield chunk;
  }
}

const addressOf = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url && /^https?:$/.test(url.protocol) && url.username === '') return url;
  const example = 'such as https://s.example.com';
  throw new CliError(
    'USAGE',
    `${JSON.stringify(text)} is not the address of a service, ${example}`,
  );
};

/** The key is not an argument, because every user of the machine can read command lines. @throws CliError */
const readKey = async (file: string): Promise<string> => {
  let key: string;
  try {
    key = (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    const message = `the key cannot be read from ${file}: ${messageOf(cause)}`;
    throw new CliError('USAGE', message, { cause });
  }
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new CliError('USAGE', `${file} has no key: a key is one line of visible characters`);
};

/** What is read from another service. */
interface OtherService {
  readonly source: Source;
  readonly url: URL;
  readonly key: string;
  readonly visits: boolean;
}

/** @throws CliError */
const otherServiceOf = async (
  source: Source,
  { url, keyFile, visits }: ImportOptions,
): Promise<OtherService> => {
  const address = addressOf(required(url, '--url', 'import'));
  const file = required(keyFile, '--key-file', 'import');
  if (visits === true && source === 'kutt')
    throw new CliError('USAGE', 'the API of Kutt has no visits');
  return { source, url: address, key: await readKey(file), visits: visits === true };
};

interface Reporting {
  readonly progress: ProgressLine;
  readonly report: (notice: string) => void;
}

/**
 * Reads another service into a temporary file before the upload: reading can take hours with pauses, and an upload has
 * to be complete within 30 minutes.
 */
const saveLines = async (
  { source, url, key, visits }: OtherService,
  file: string,
  { progress, report }: Reporting,
  signal: AbortSignal,
): Promise<void> => {
  const options = { url, signal, report };
  const lines =
    source === 'shlink'
      ? readShlink(
          new SourceApi({ ...options, service: 'Shlink', headers: { 'X-Api-Key': key } }),
          { visits },
        )
      : readKutt(new SourceApi({ ...options, service: 'Kutt', headers: { 'X-API-KEY': key } }));
  let records = 0;
  const counting = async function* (): AsyncGenerator<string> {
    for await (const line of lines) {
      records += 1;
      if (records % 100 === 0) progress.show(`${counted(records, 'record')} read from ${url.host}`);
      yield line;
    }
  };
  try {
    const target = createWriteStream(file, { mode: 0o600 });
    await pipeline(Readable.from(counting()), createGzip(), target, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  if (records === 0) throw new CliError('REFUSED', `${url.host} has no links`);
};

/** Calls `use` with a directory that only this user can read, and deletes it. */
const withTemporaryDir = async <Result>(use: (dir: string) => Promise<Result>): Promise<Result> => {
  const dir = await mkdtemp(path.join(tmpdir(), 'linklog-import-'));
  try {
    return await use(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
};

const startMessages = () => {
  const remedy = `see "${linklogCommand()} imports list" for whether the import started`;
  return {
    stopped: `stopped while the file was sent; ${remedy}`,
    ended: `killed while the file was sent; ${remedy}`,
  };
};

const startFromFile = async (
  connect: CommandContext['connect'],
  query: Query,
  file: string,
  progress: ProgressLine,
): Promise<ImportResponse> => {
  const upload = await openUpload(file);
  const onProgress = (sent: number): void => {
    progress.show(reading(sent));
  };
  try {
    const client = await connect();
    return await interruptible(startMessages(), (signal) =>
      client.get('startImport', {
        ...{ query, signal },
        file: countBytes(readBytes(upload), onProgress),
      }),
    );
  } finally {
    // An open stdin would keep the process alive.
    upload.bytes.destroy();
  }
};

const startFromService = async (
  connect: CommandContext['connect'],
  query: Query,
  other: OtherService,
  reporting: Reporting,
): Promise<ImportResponse> => {
  // Before the other service is read for hours.
  await connect();
  return withTemporaryDir(async (dir) => {
    const file = path.join(dir, 'records.gz');
    const messages = {
      stopped: 'stopped while the other service was read; nothing was imported',
      ended: `killed while the other service was read; ${dir} may remain, and nothing was imported`,
    };
    await interruptible(messages, (signal) => saveLines(other, file, reporting, signal));
    return startFromFile(connect, query, file, reporting.progress);
  });
};

const progressOf = ({ rows, created, existing, failed, visits }: ImportResponse): string =>
  `${counted(rows, 'row')}: ${count(created)} created, ${count(existing)} existing, ` +
  `${count(failed)} failed; ${counted(visits, 'visit')}`;

/** Polls an import until it has ended, also over a restart of the service. @throws the signal's reason */
const waitUntilEnded = async (
  connect: CommandContext['connect'],
  id: string,
  { progress, report }: Reporting,
  signal: AbortSignal,
): Promise<ImportResponse> => {
  let isReported = false;
  const onFailure = (error: unknown): void => {
    if (!isReported) report(`${messageOf(error)}; trying again`);
    isReported = true;
  };
  const find = async (): Promise<ImportResponse> =>
    (await connect()).get('getImport', { parameters: { id } });
  const pauses = { firstMs: 1_000, longestMs: 10_000 };
  try {
    for (;;) {
      const current = await retry(find, { pauses, signal, isRetryable: isTemporary, onFailure });
      isReported = false;
      if (current.status !== 'running') return current;
      progress.show(progressOf(current));
      await sleep(pollMs, undefined, { signal });
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
};

/** The first failed rows, by number. */
const readFailedRows = async (
  client: AdminClient,
  { id, failed }: ImportResponse,
): Promise<readonly string[]> => {
  const rows: ImportedRow[] = [];
  for (const outcome of failed === 0 ? [] : failedOutcomes) {
    const request = { parameters: { id }, query: { outcome } };
    const { signal } = new AbortController();
    const bytes = await client.openBytes('getImportedRows', request, signal);
    let found = 0;
    for await (const row of readRows(bytes)) {
      rows.push(row);
      found += 1;
      if (found === maxFailedRows) break;
    }
  }
  const first = rows.sort((a, b) => a.row - b.row).slice(0, maxFailedRows);
  const rest = failed - first.length;
  return [
    ...first.map(rowLine),
    ...(rest > 0 ? [`${count(rest)} more: see "${linklogCommand()} imports rows ${id}"`] : []),
  ];
};

/** Failed rows are no failure of the import. */
const endedOf = (ended: ImportResponse, failedRows: readonly string[]): Output => {
  const { status, error } = ended;
  const text = [
    formatFields(fieldsOf(ended)),
    ...(failedRows.length > 0 ? ['', ...failedRows] : []),
  ];
  const output = { json: ended, text: text.join('\n') };
  if (status === 'done') return output;
  const notice = `the import ${status === 'failed' ? 'failed' : 'was stopped'}`;
  return { ...output, notice: error === null ? notice : `${notice}: ${plain(error)}`, exitCode: 1 };
};

const runImport = async (
  file: string | undefined,
  options: ImportOptions,
  { connect, print }: CommandContext,
): Promise<void> => {
  const { from, url, keyFile, format } = options;
  if (from === undefined && (url ?? keyFile) !== undefined) {
    throw new CliError('USAGE', '--url and --key-file require --from');
  }
  if (from !== undefined && (file !== undefined || format !== 'auto')) {
    throw new CliError('USAGE', '--from excludes a file and --format');
  }
  const query = queryOf(options);
  const progress = progressLine();
  const report = (notice: string): void => {
    progress.clear();
    print({ notice });
  };
  const reporting = { progress, report };
  try {
    const { id } =
      from === undefined
        ? await startFromFile(connect, query, required(file, 'the file', 'import'), progress)
        : await startFromService(connect, query, await otherServiceOf(from, options), reporting);
    const continues = `the import ${id} continues; see "${linklogCommand()} imports show ${id}"`;
    const ended = await interruptible({ stopped: continues, ended: continues }, (signal) =>
      waitUntilEnded(connect, id, reporting, signal),
    );
    progress.clear();
    print(endedOf(ended, await readFailedRows(await connect(), ended)));
  } finally {
    progress.clear();
  }
};

export const addImportCommand = (program: Command, context: CommandContext): void => {
  const formats = ['auto', ...importFormats];

  program
    .command('import')
    .description('import links from a file, or from Shlink or Kutt')
    .argument('[file]', 'file, also as gzip; "-" is stdin')
    .option(
      '--from <service>',
      `read ${sources.join(' or ')} by its API`,
      oneOf('service', sources),
    )
    .option('--url <url>', 'address of the other service')
    .option('--key-file <file>', 'file with the API key of the other service')
    .option('--format <format>', formats.join(', '), oneOf('format', formats), 'auto')
    .option('--account <account>', 'account that gets the links', 'default')
    .option('--domain <domain>', 'active domain of all links; default that of each row')
    .option(
      '--on-conflict <policy>',
      `if another link has the code: ${conflictPolicies.join(', ')}; default skip`,
      oneOf('policy', conflictPolicies),
    )
    .option('--encoding <encoding>', 'encoding of the file, such as shift_jis; default: detected')
    .option('--dry-run', 'print the outcome without creating links')
    .option('--link-zone <zone>', 'zone of times of links without an offset; default UTC')
    .option('--visits', 'import visits, too (YOURLS, Shlink)')
    .option('--visit-zone <zone>', 'zone of times of visits without an offset; default UTC')
    .notes(
      `
The import runs in the service: Ctrl-C ends only this command once the file is sent. A second import of the
same file creates nothing. The exit code is 1 if the import failed or was stopped, and 0 if only rows failed.

Examples:
  $ linklog import links.csv --account shop --dry-run
  $ gzip < yourls.sql | linklog import - --visits --visit-zone Europe/Berlin
  $ linklog import --from shlink --url https://s.example.com --key-file shlink.key --visits
  $ linklog import --from kutt --url https://kutt.example.com --key-file kutt.key --on-conflict suffix`,
    )
    .action((file: string | undefined, options: ImportOptions) =>
      runImport(file, options, context),
    );
};
