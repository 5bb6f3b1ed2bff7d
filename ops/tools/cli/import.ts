import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  conflictPolicies,
  importFormats,
  operatorsImportQuery,
  type ImportResponse,
} from '../../../schemas/http/imports.js';
import { linklogCommand } from '../../platform/process/own-command.js';
import { retry } from '../../platform/concurrency/retry.js';
import {
  formatOfSource,
  otherServiceOf,
  saveLines,
  sources,
  type OtherService,
  type Reporting,
  type ServiceOptions,
  type Source,
} from '../import-sources/other-service.js';
import { oneOf, required } from './arguments.js';
import type { Query } from './client.js';
import type { AddCommands, CommandContext } from './command.js';
import { CliError, isTemporary, messageOf } from './errors.js';
import { endedOf, progressOf, readFailedRows } from './imports.js';
import { interruptible } from './long-work.js';

interface ImportOptions extends ServiceOptions {
  readonly from?: Source;
  readonly format: string;
  readonly account: string;
  readonly domain?: string;
  readonly onConflict?: string;
  readonly encoding?: string;
  readonly dryRun?: true;
  readonly linkZone?: string;
  readonly visitZone?: string;
}

/** The time between requests for the progress of an import (ms). */
const pollMs = 500;

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
async function* readBytes(
  { name, bytes }: Upload,
  progress: Reporting['progress'],
): AsyncGenerator<Uint8Array> {
  let sent = 0;
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      sent += chunk.length;
      progress.show(`${(sent / 1e6).toFixed(1)} MB sent`);
      yield chunk;
    }
  } catch (cause) {
    throw cannotBeRead(name, cause);
  }
}

const startFromFile = async (
  connect: CommandContext['connect'],
  query: Query,
  file: string,
  progress: Reporting['progress'],
): Promise<ImportResponse> => {
  const upload = await openUpload(file);
  const remedy = `see "${linklogCommand()} imports list" for whether the import started`;
  const messages = { work: 'the sending of the file', stopped: remedy };
  try {
    const client = await connect();
    return await interruptible(messages, (signal) =>
      client.get('startImport', { query, signal, file: readBytes(upload, progress) }),
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
  // Only this user can read the directory.
  const dir = await mkdtemp(path.join(tmpdir(), 'linklog-import-'));
  const messages = {
    work: 'the reading of the other service',
    stopped: 'nothing was imported',
    killed: `${dir} may remain, and nothing was imported`,
  };
  try {
    const file = path.join(dir, 'records.gz');
    await interruptible(messages, (signal) => saveLines(other, file, reporting, signal));
    return await startFromFile(connect, query, file, reporting.progress);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
};

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
    const stopped = `the import ${id} continues; see "${linklogCommand()} imports show ${id}"`;
    const ended = await interruptible({ work: 'the report', stopped }, (signal) =>
      waitUntilEnded(connect, id, reporting, signal),
    );
    progress.clear();
    print(endedOf(ended, await readFailedRows(await connect(), ended)));
  } finally {
    progress.clear();
  }
};

export const addImportCommand: AddCommands = (program, context) => {
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
