import type { ServerResponse } from 'node:http';
import type { Outbox } from '../../../ops/event-log/outbox/port.js';
import { allowStall } from '../../../ops/http/connections.js';
import { deferred } from '../../../ops/platform/concurrency/deferred.js';
import { checkMs, findLiveCallers, type Caller } from '../../admission/live-callers.js';
import { periodically } from '../../../ops/platform/concurrency/periodic.js';
import type { Logger } from '../../../ops/platform/logging.js';
import {
  transactionOn,
  withConnection,
  type Client,
  type Pool,
} from '../../../ops/platform/postgres/pool.js';
import { areIncomplete } from '../../statistics/statistics.js';
import { writePart } from '../../http/reply.js';
import { listAll, startSnapshot, type ListedLink } from '../list/link-list.js';
import type { AccountQuery } from '../list/link-query.js';
import { csvRow } from '../../../schemas/csv.js';
import {
  exportedLink,
  type ExportedLink,
  type ExportFormat,
} from '../../../schemas/http/export.js';
import { shown } from '../../../schemas/http/link-options.js';
import { linkOfSubject, shortUrlOf, subjectOf } from '../../../schemas/link-subject.js';

interface Format {
  readonly contentType: string;
  /** The start of the file. */
  readonly head: string;
  /** One link, with its line end. */
  readonly line: (link: ExportedLink) => string;
}

const exportedLinkOf = ({ link: state, clicks }: ListedLink): ExportedLink => {
  const { link, restraints } = state;
  const { domain, code } = linkOfSubject(link.subject);
  return {
    domain,
    code,
    alias: link.custom ? code : null,
    url: link.url,
    title: link.title,
    note: link.note,
    tags: link.tags,
    createdAt: link.createdAt,
    expiresAt: link.expiresAt,
    startsAt: link.startsAt,
    maxClicks: link.maxClicks,
    clicks: clicks.clicks,
    disabled: restraints.disabled,
    ...shown(link.options),
    ...(link.codes.length > 0 && { codes: link.codes }),
    hasPassword: link.passwordHash !== null,
  };
};

const columns = Object.keys(exportedLink.shape) as readonly (keyof ExportedLink)[];

/** A cell: empty for `null`; tags and codes have no commas; objects and other lists are JSON. */
const cellOf = (link: ExportedLink, name: keyof ExportedLink): string => {
  if (name === 'tags' || name === 'codes') return link[name]?.join() ?? '';
  const value = link[name] ?? '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

export const formats: Readonly<Record<ExportFormat, Format>> = {
  jsonl: {
    contentType: 'application/x-ndjson; charset=utf-8',
    head: '',
    line: (link) => `${JSON.stringify(link)}\n`,
  },
  csv: {
    contentType: 'text/csv; charset=utf-8',
    head: csvRow(columns),
    line: (link) => csvRow(columns.map((name) => cellOf(link, name))),
  },
};

/**
 * The formats for spreadsheets: tables have short URLs, in a column that no import reads, and a byte order mark, without
 * which Excel guesses the encoding.
 */
export const spreadsheetFormats = (shortUrlHost: string): typeof formats => ({
  ...formats,
  csv: {
    ...formats.csv,
    head: `\ufeff${csvRow([...columns, 'shortLinkUrl'])}`,
    line: (link) =>
      csvRow([
        ...columns.map((name) => cellOf(link, name)),
        shortUrlOf(subjectOf(link), shortUrlHost),
      ]),
  },
});

/** Exports of one account, so that it cannot take all connections. */
const maxOfAccount = 2;

/** Links of a portion, if they are small; two portions are in memory. */
const portionSize = 1_000;

/** The longest export (ms): PostgreSQL keeps all versions of changed rows that its snapshot may need. */
const defaultLifeMs = 30 * 60_000;

/**
 * How long a client may accept no data (ms). With a send buffer of 4 MB, the maximum of Linux, a client that reads 10 KB a
 * second makes visible progress every 130 s.
 */
const stallMs = 180_000;

interface ExportRequest {
  readonly query: AccountQuery;
  readonly format: Format;
  readonly now: Date;
  readonly caller: Caller;
}

/** An export with a snapshot and its first links. One of the two methods must be called. */
interface OpenExport {
  /** Sends the file, after the head of the response was sent. */
  readonly start: (res: ServerResponse) => void;
  readonly cancel: () => void;
}

/** The tables were replaced by rebuilt ones, whose rows the snapshot does not show. */
class TablesReplaced extends Error {
  readonly code = 'TABLES_REPLACED';

  constructor() {
    super('a projection was rebuilt during the export');
  }
}

/** PostgreSQL resolves names by the newest catalog, not by that of the snapshot. */
export const readTables = async (tx: Client): Promise<string> => {
  const { rows } = await tx.query<{ tables: string }>({
    name: 'export-tables',
    text: `SELECT concat_ws(' ', to_regclass('projection_redirects.links')::oid,
             to_regclass('projection_redirects.link_tags')::oid,
             to_regclass('projection_stats.links')::oid) AS tables`,
  });
  return rows[0]?.tables ?? '';
};

/** The links in portions. @throws TablesReplaced */
async function* readPortions(
  tx: Client,
  outbox: Outbox,
  { query, now }: ExportRequest,
): AsyncGenerator<readonly ListedLink[]> {
  const tables = await readTables(tx);
  for await (const links of listAll(tx, outbox, { query, now }, portionSize)) {
    if ((await readTables(tx)) !== tables) throw new TablesReplaced();
    yield links;
  }
}

/** Closes the connection with a reset, so that a client without chunked encoding notices the missing end, too. */
const breakOff = (res: ServerResponse): void => {
  if (res.socket) res.socket.resetAndDestroy();
  else res.destroy();
};

export const createExports = (deps: {
  /** Each export has a connection, so its size limits the exports of this process. */
  readonly pool: Pool;
  /** For checks of the callers. */
  readonly mainPool: Pool;
  readonly outbox: Outbox;
  readonly logger: Logger;
  readonly lifeMs?: number;
}) => {
  const { pool, mainPool, outbox, logger, lifeMs = defaultLifeMs } = deps;
  const running: string[] = [];

  const hasRoomFor = (account: string): boolean =>
    running.length < pool.options.max &&
    running.filter((other) => other === account).length < maxOfAccount;

  /** @param first the first portion, which was read before the response began */
  const writePortions = async (
    res: ServerResponse,
    format: Format,
    portions: AsyncIterator<readonly ListedLink[]>,
    first: IteratorResult<readonly ListedLink[]>,
  ): Promise<void> => {
    let read = first;
    let head = format.head;
    const write = async (links: readonly ListedLink[]): Promise<void> => {
      const text = head + links.map((link) => format.line(exportedLinkOf(link))).join('');
      head = '';
      await writePart(res, text);
    };
    while (read.done !== true && !res.destroyed) {
      // The next portion is read while this one is written.
      [read] = await Promise.all([portions.next(), write(read.value)]);
    }
    if (head !== '') await writePart(res, head);
  };

  /** Runs an export. Resolves after it has sent its last byte, or was cancelled. */
  const run = (
    request: ExportRequest,
    opened: (state: 'open' | 'incomplete') => void,
    response: Promise<ServerResponse | null>,
  ): Promise<ServerResponse | null> =>
    withConnection(pool, (client, onBroken) =>
      transactionOn(
        client,
        async (tx) => {
          await startSnapshot(tx);
          if (await areIncomplete(tx)) {
            opened('incomplete');
            return null;
          }
          const portions = readPortions(tx, outbox, request);
          const first = await portions.next();
          opened('open');
          const res = await response;
          if (res) {
            await writePortions(res, request.format, portions, first);
          }
          return res;
        },
        onBroken,
      ),
    );

  /** Sends the end of the file, or closes the connection: a client must not take a part for the whole file. */
  const finish = async (
    exporting: ReturnType<typeof run>,
    res: ServerResponse,
    caller: Caller,
  ): Promise<void> => {
    const watch = periodically({
      ...{ name: 'end an export of a revoked caller', everyMs: checkMs, logger },
      async task() {
        const mayContinue = await findLiveCallers(mainPool, [caller], 'links:read');
        if (!mayContinue(caller)) breakOff(res);
      },
    });
    const timer = setTimeout(() => {
      logger.warn({ lifeMs }, 'an export took too long; its connection is closed');
      breakOff(res);
    }, lifeMs).unref();
    allowStall(res, stallMs);
    try {
      await exporting;
      res.end();
    } catch (err) {
      logger.warn({ err }, 'an export failed; its connection is closed');
      breakOff(res);
    } finally {
      clearTimeout(timer);
      await watch.stop();
    }
  };

  return {
    count: () => running.length,

    /** Takes the snapshot and reads the first links, so that errors get a response. */
    async open(request: ExportRequest): Promise<OpenExport | 'tooMany' | 'incomplete'> {
      const { account } = request.query;
      if (!hasRoomFor(account)) return 'tooMany';
      running.push(account);
      const opened = deferred<'open' | 'incomplete'>();
      const response = deferred<ServerResponse | null>();
      const exporting = run(request, opened.resolve, response.promise);
      exporting
        // Without effect if it has opened; `finish` handles the error then.
        .catch(opened.reject)
        .finally(() => {
          running.splice(running.indexOf(account), 1);
        });
      if ((await opened.promise) === 'incomplete') return 'incomplete';
      return {
        start(res) {
          response.resolve(res);
          void finish(exporting, res, request.caller);
        },
        cancel() {
          response.resolve(null);
        },
      };
    },
  };
};

export type Exports = ReturnType<typeof createExports>;
