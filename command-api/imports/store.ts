/** The state of imports: see 0105_imports.sql and 0106_import_outcomes.sql. */
import {
  unnest,
  valuesByField,
  type Pool,
  type Queryable,
} from '../../ops/platform/postgres/pool.js';
import type { Statement } from '../../ops/platform/postgres/statement.js';
import type {
  ConflictPolicy,
  ImportResponse,
  ImportSource,
  ImportStatus,
} from '../../schemas/http/imports.js';
import { emptyLink, type SourceRecord, type SourceVisit } from './formats/records.js';

/** What the client requested. */
interface ImportOptions {
  readonly domain: string | null;
  readonly onConflict: ConflictPolicy;
  readonly dryRun: boolean;
  readonly visits: boolean;
}

export interface NewImport {
  readonly id: string;
  readonly account: string;
  /** `null`: an operator. */
  readonly keyId: string | null;
  readonly actor: string;
  readonly requestId: string;
  readonly traceparent?: string | null | undefined;
  readonly format: ImportSource;
  readonly options: ImportOptions;
}

/** `check`: decides without creating links. */
type Phase = 'check' | 'links' | 'visits';

/** Rows by outcome. */
export interface Counts {
  readonly created: number;
  readonly existing: number;
  readonly failed: number;
  /** Those of the failed rows whose code another link has. */
  readonly conflicts: number;
}

/** A running import, leased by this process. */
export interface RunningImport extends NewImport, Counts {
  readonly phase: Phase;
  readonly portions: number;
  readonly position: number;
  readonly visits: number;
  /** The time since its start. */
  readonly ageMs: number;
}

export type LinkRecord = Exclude<SourceRecord, { readonly type: 'visit' }>;

/** How long a process may take for a portion, and how long an upload exists after its last renewal (s). */
const leaseSeconds = 20;

const keepDays = 30;

/** Rows of an import that created nothing and are listed. Others are only counted. */
export const maxListedRows = 100_000;

/** Bytes of the outcomes that are stored for an account. */
const maxOutcomeBytes = 2 ** 30;

/** Another process decides the portion, or the import was stopped. */
export class ImportLeaseLost extends Error {
  readonly code = 'IMPORT_LEASE_LOST';
}

const columns = `id, account, key_id AS "keyId", actor, request_id AS "requestId", traceparent, format, options,
  phase, portions, position, created, existing, failed, conflicts, visits,
  (extract(epoch FROM clock_timestamp() - started_at) * 1000)::bigint AS "ageMs"`;

/** The phase in which an import begins. */
const firstPhase = ({ dryRun, onConflict }: ImportOptions): Phase =>
  dryRun || onConflict === 'fail' ? 'check' : 'links';

export const insertImport = async (
  postgres: Queryable,
  { id, account, keyId, actor, requestId, traceparent, format, options }: NewImport,
): Promise<void> => {
  await postgres.query(
    `INSERT INTO imports.imports (id, account, key_id, actor, request_id, traceparent, format, options, status,
       phase, started_at, leased_until, turn_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'receiving', $9, clock_timestamp(),
       clock_timestamp() + $10 * interval '1 second', clock_timestamp())`,
    [
      ...[id, account, keyId, actor, requestId, traceparent, format, options],
      ...[firstPhase(options), leaseSeconds],
    ],
  );
};

/** Renews the lease of an upload: without renewals, its process was killed. */
export const renewUpload = async (postgres: Queryable, id: string): Promise<void> => {
  await postgres.query({
    name: 'imports-renew-upload',
    text: `UPDATE imports.imports SET leased_until = clock_timestamp() + $2 * interval '1 second'
           WHERE id = $1 AND status = 'receiving'`,
    values: [id, leaseSeconds],
  });
};

const emptyValues = new Map<string, unknown>(Object.entries(emptyLink));

/** A record as JSON, without what an empty link has: 4 bytes of a file would be 290. */
export const writeRecord = (record: LinkRecord): string => {
  if (record.type === 'invalid') return JSON.stringify(record);
  const link = Object.entries(record.link).filter(
    ([name, value]) =>
      value !== emptyValues.get(name) && !(Array.isArray(value) && value.length === 0),
  );
  return JSON.stringify({ ...record, link: Object.fromEntries<unknown>(link) });
};

const readRecord = (record: LinkRecord): LinkRecord =>
  record.type === 'invalid' ? record : { ...record, link: { ...emptyLink, ...record.link } };

/** Stores a portion of the records of a file. */
export const insertPortion = async (
  postgres: Queryable,
  id: string,
  number: number,
  records: string,
): Promise<void> => {
  await postgres.query({
    name: 'imports-receive',
    text: 'INSERT INTO imports.portions (import, number, records) VALUES ($1, $2, $3)',
    values: [id, number, records],
  });
};

/** A visit of a file. `number`: from 1, in the order of the file. */
export interface NumberedVisit {
  readonly number: number;
  readonly visit: SourceVisit;
}

export const insertVisits = async (
  postgres: Queryable,
  id: string,
  visits: readonly NumberedVisit[],
): Promise<void> => {
  const rows = visits.map(({ number, visit }) => ({
    ...{ number, domain: visit.domain ?? '', code: visit.code, visit: JSON.stringify(visit) },
  }));
  await postgres.query({
    name: 'imports-receive-visits',
    text: `INSERT INTO imports.visits (import, number, domain, code, visit)
           SELECT $5::uuid, * FROM ${unnest(['bigint', 'text', 'text', 'text'])}`,
    values: [...valuesByField(rows, 'number', 'domain', 'code', 'visit'), id],
  });
};

/** What is known of a file when it is complete. */
interface ReceivedFile {
  readonly portions: number;
  /** Invalid rows that no portion has. */
  readonly unlisted: number;
  readonly ignoredColumns: readonly string[];
}

/** Starts an import whose file is complete. */
export const startImport = async (
  postgres: Queryable,
  id: string,
  { portions, unlisted, ignoredColumns }: ReceivedFile,
): Promise<void> => {
  await postgres.query(
    `UPDATE imports.imports SET status = 'running', portions = $2, unlisted = $3, ignored_columns = $4,
       leased_until = '-infinity'
     WHERE id = $1`,
    [id, portions, unlisted, ignoredColumns],
  );
};

export const deleteImport = async (postgres: Queryable, id: string): Promise<void> => {
  await postgres.query('DELETE FROM imports.imports WHERE id = $1', [id]);
};

/** The number of imports of an account that run or are received. */
export const countUnfinished = async (postgres: Queryable, account: string): Promise<number> => {
  const { rows } = await postgres.query<{ count: number }>(
    `SELECT count(*) AS count FROM imports.imports
     WHERE account = $1
       AND (status = 'running' OR (status = 'receiving' AND leased_until > clock_timestamp()))`,
    [account],
  );
  return rows[0]?.count ?? 0;
};

/** Takes the running import whose last portion ended first; `null` if no import is running and free. */
export const leaseImport = async (pool: Pool, owner: string): Promise<RunningImport | null> => {
  const { rows } = await pool.query<RunningImport>({
    name: 'imports-lease',
    text: `UPDATE imports.imports
           SET owner = $1, leased_until = clock_timestamp() + $2 * interval '1 second'
           WHERE id = (SELECT id FROM imports.imports
                       WHERE status = 'running' AND leased_until < clock_timestamp()
                       ORDER BY turn_at LIMIT 1 FOR UPDATE SKIP LOCKED)
           RETURNING ${columns}`,
    values: [owner, leaseSeconds],
  });
  return rows[0] ?? null;
};

/** Gives an import back, which is leased again after a time (ms). */
export const returnImport = async (
  postgres: Queryable,
  id: string,
  owner: string,
  afterMs: number,
): Promise<void> => {
  await postgres.query(
    `UPDATE imports.imports SET leased_until = clock_timestamp() + $3 * interval '1 millisecond'
     WHERE id = $1 AND owner = $2`,
    [id, owner, afterMs],
  );
};

/** Locks a leased import. @throws ImportLeaseLost */
export const lockImport = async (
  tx: Queryable,
  { id, phase, position }: Pick<RunningImport, 'id' | 'phase' | 'position'>,
  owner: string,
): Promise<void> => {
  const { rows } = await tx.query({
    name: 'imports-lock',
    text: `SELECT FROM imports.imports
           WHERE id = $1 AND owner = $2 AND phase = $3 AND position = $4 AND status = 'running' FOR UPDATE`,
    values: [id, owner, phase, position],
  });
  if (rows.length === 0) throw new ImportLeaseLost(`the lease of the import ${id} was lost`);
};

/** The records of a portion. @throws ImportLeaseLost if another process has decided it */
export const readPortion = async (
  postgres: Queryable,
  id: string,
  number: number,
): Promise<readonly LinkRecord[]> => {
  const { rows } = await postgres.query<{ records: string }>({
    name: 'imports-portion',
    text: 'SELECT records FROM imports.portions WHERE import = $1 AND number = $2',
    values: [id, number],
  });
  if (!rows[0]) throw new ImportLeaseLost(`the import ${id} has no records of portion ${number}`);
  return (JSON.parse(rows[0].records) as readonly LinkRecord[]).map(readRecord);
};

/** The name of a link in the file. */
interface SourceName {
  readonly domain: string | null;
  readonly code: string;
}

export const nameOfSource = ({ domain, code }: SourceName): string => `${domain ?? ''}/${code}`;

/** The number of visits of links, by `nameOfSource`. */
export const countVisits = async (
  postgres: Queryable,
  id: string,
  names: readonly SourceName[],
): Promise<ReadonlyMap<string, number>> => {
  const { rows } = await postgres.query<{ domain: string; code: string; count: number }>({
    name: 'imports-count-visits',
    text: `SELECT v.domain, v.code, count(*) AS count
           FROM (SELECT DISTINCT * FROM unnest($2::text[], $3::text[])) AS n (domain, code)
           JOIN imports.visits v ON v.import = $1 AND v.code = n.code AND v.domain = n.domain
           GROUP BY v.domain, v.code`,
    values: [
      id,
      ...valuesByField(
        names.map(({ domain, code }) => ({ domain: domain ?? '', code })),
        'domain',
        'code',
      ),
    ],
  });
  return new Map(rows.map(({ count, ...name }) => [nameOfSource(name), count]));
};

/** A link that a check would create. */
export interface CheckedLink {
  readonly subject: string;
  readonly url: string;
}

/** The destinations of links that a check would create, by subject. */
export const readChecked = async (
  postgres: Queryable,
  id: string,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await postgres.query<CheckedLink>({
    name: 'imports-checked',
    text: 'SELECT subject, url FROM imports.checked WHERE import = $1 AND subject = ANY ($2::text[])',
    values: [id, subjects],
  });
  return new Map(rows.map(({ subject, url }) => [subject, url]));
};

/** Rows of a table whose columns are texts. */
const insertTexts = <Row>(
  table: string,
  id: string,
  rows: readonly Row[],
  columns: readonly (keyof Row & string)[],
): readonly Statement[] => {
  if (rows.length === 0) return [];
  const text = `INSERT INTO imports.${table} (${columns.join()}, import)
                SELECT *, $${columns.length + 1}::uuid FROM ${unnest(columns.map(() => 'text'))}
                ON CONFLICT DO NOTHING`;
  return [{ name: `imports-add-${table}`, text, values: [...valuesByField(rows, ...columns), id] }];
};

export const insertChecked = (id: string, links: readonly CheckedLink[]): readonly Statement[] =>
  insertTexts('checked', id, links, ['subject', 'url']);

/** A link that an import created. */
export interface CreatedLink extends SourceName {
  readonly subject: string;
}

/** A code can be twice in a file, with two subjects: its visits belong to the first one. */
export const insertCreated = (id: string, links: readonly CreatedLink[]): readonly Statement[] => {
  const rows = links.map(({ domain, ...link }) => ({ ...link, domain: domain ?? '' }));
  return insertTexts('created', id, rows, ['domain', 'code', 'subject']);
};

/** Ends a portion: stores its outcomes and counts. @param keepsRecords for another phase */
export const savePortion = (
  { id, position }: Pick<RunningImport, 'id' | 'position'>,
  outcomes: string,
  { created, existing, failed, conflicts }: Counts,
  keepsRecords: boolean,
): readonly Statement[] => [
  {
    name: 'imports-decided',
    text: `WITH stored AS (
             INSERT INTO imports.outcomes (import, number, outcomes) VALUES ($1, $2, $3)
             ON CONFLICT (import, number) DO UPDATE SET outcomes = excluded.outcomes)
           DELETE FROM imports.portions WHERE import = $1 AND number = $2 AND NOT $4::boolean`,
    values: [id, position, outcomes, keepsRecords],
  },
  {
    name: 'imports-progress',
    text: `UPDATE imports.imports SET position = position + 1, created = created + $2,
             existing = existing + $3, failed = failed + $4, conflicts = conflicts + $5,
             bytes = bytes + $6, leased_until = '-infinity', turn_at = clock_timestamp()
           WHERE id = $1`,
    values: [id, created, existing, failed, conflicts, Buffer.byteLength(outcomes)],
  },
];

/** Begins another phase of a leased import. The counts of a check are those of the file, not of links. */
export const startPhase = async (
  postgres: Queryable,
  { id, phase }: Pick<RunningImport, 'id' | 'phase'>,
  next: Phase,
  owner: string,
): Promise<void> => {
  await postgres.query(
    `UPDATE imports.imports SET phase = $3, position = 0, leased_until = '-infinity',
       ${phase === 'check' ? 'created = 0, existing = 0, failed = 0, conflicts = 0' : 'turn_at = turn_at'}
     WHERE id = $1 AND phase = $2 AND owner = $4 AND status = 'running'`,
    [id, phase, next, owner],
  );
};

/** Ends an import, unless it is at an end. */
export const endImport = async (
  postgres: Queryable,
  id: string,
  status: Exclude<ImportStatus, 'running'>,
  error: string | null,
): Promise<void> => {
  await postgres.query(
    `UPDATE imports.imports SET status = $2, error = $3, ended_at = clock_timestamp()
     WHERE id = $1 AND status = 'running'`,
    [id, status, error],
  );
};

/** @param limit rows that one statement deletes */
const deleteSome = (table: 'visits' | 'created' | 'checked' | 'portions', limit = 5_000): string =>
  `DELETE FROM imports.${table} WHERE ctid IN (
     SELECT ctid FROM imports.${table} WHERE import = $1 LIMIT ${limit})`;

/** What an import needs only while it runs. */
const remains: readonly string[] = [
  deleteSome('visits'),
  deleteSome('created'),
  deleteSome('checked'),
  deleteSome('portions', 50),
];

/** Deletes what an import needed only while it ran. Returns the amount of work, or 0 if none is left. */
export const cleanUpImports = async (pool: Pool): Promise<number> => {
  const { rows } = await pool.query<{ id: string }>(
    'SELECT id FROM imports.imports WHERE ended_at IS NOT NULL AND NOT cleaned LIMIT 1',
  );
  const id = rows[0]?.id;
  if (id === undefined) return 0;
  for (const text of remains) {
    const { rowCount } = await pool.query(text, [id]);
    if (rowCount !== null && rowCount > 0) return rowCount;
  }
  await pool.query('UPDATE imports.imports SET cleaned = true WHERE id = $1', [id]);
  return 1;
};

/** A visit of a link that the import created. */
interface StoredVisit {
  readonly number: number;
  /** `null`: the import did not create the link. */
  readonly subject: string | null;
  readonly visit: SourceVisit;
}

export const readVisits = async (
  postgres: Queryable,
  { id, position }: Pick<RunningImport, 'id' | 'position'>,
  limit: number,
): Promise<readonly StoredVisit[]> => {
  const { rows } = await postgres.query<Omit<StoredVisit, 'visit'> & { readonly visit: string }>({
    name: 'imports-visits',
    text: `SELECT v.number, c.subject, v.visit FROM imports.visits v
           LEFT JOIN imports.created c
             ON c.import = v.import AND c.domain = v.domain AND c.code = v.code
           WHERE v.import = $1 AND v.number > $2 ORDER BY v.number LIMIT $3`,
    values: [id, position, limit],
  });
  return rows.map(({ visit, ...rest }) => ({ ...rest, visit: JSON.parse(visit) as SourceVisit }));
};

/** Ends a portion of visits that the log has. @throws ImportLeaseLost */
export const saveVisits = async (
  postgres: Queryable,
  { id, position }: Pick<RunningImport, 'id' | 'position'>,
  owner: string,
  through: number,
  appended: number,
): Promise<void> => {
  const { rowCount } = await postgres.query({
    name: 'imports-save-visits',
    text: `WITH saved AS (
             UPDATE imports.imports SET position = $4, visits = visits + $5,
               leased_until = '-infinity', turn_at = clock_timestamp()
             WHERE id = $1 AND phase = 'visits' AND position = $2 AND owner = $3 AND status = 'running'
             RETURNING id),
           appended AS (DELETE FROM imports.visits v USING saved
                        WHERE v.import = saved.id AND v.number <= $4)
           SELECT FROM saved`,
    values: [id, position, owner, through, appended],
  });
  if (rowCount === 0) throw new ImportLeaseLost(`the lease of the import ${id} was lost`);
};

interface StoredImport extends Omit<ImportResponse, 'startedAt' | 'endedAt'> {
  readonly startedAt: Date;
  readonly endedAt: Date | null;
}

/** The newest imports. */
const maxListed = 100;

/**
 * Reads imports whose file is complete, the newest first, at most 100.
 *
 * @param account `null`: all
 * @param id `null`: all
 */
export const readImports = async (
  postgres: Queryable,
  account: string | null,
  id: string | null = null,
): Promise<readonly ImportResponse[]> => {
  const { rows } = await postgres.query<StoredImport>(
    `SELECT id, format, status, (options->>'dryRun')::boolean AS "dryRun",
       created + existing + failed + unlisted AS rows, created, existing, failed + unlisted AS failed, visits,
       ignored_columns AS "ignoredColumns", started_at AS "startedAt", ended_at AS "endedAt", error
     FROM imports.imports
     WHERE status <> 'receiving' AND ($1::text IS NULL OR account = $1) AND ($2::uuid IS NULL OR id = $2)
     ORDER BY started_at DESC, id LIMIT ${maxListed}`,
    [account, id],
  );
  return rows.map(({ startedAt, endedAt, ...stored }) => ({
    ...stored,
    startedAt: startedAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
  }));
};

/** The outcomes of portions with a number above `after`, as JSON Lines; those of at most one portion. */
export const readOutcomes = async (
  postgres: Queryable,
  id: string,
  after: number,
): Promise<{ readonly number: number; readonly outcomes: string } | null> => {
  const { rows } = await postgres.query<{ number: number; outcomes: string }>({
    name: 'imports-outcomes',
    text: `SELECT number, outcomes FROM imports.outcomes
           WHERE import = $1 AND number > $2 ORDER BY number LIMIT 1`,
    values: [id, after],
  });
  return rows[0] ?? null;
};

const deletedTogether = 10;

/**
 * Deletes old imports, the oldest ones of an account with too many outcomes, and uploads that ended without a complete
 * file. Returns their number.
 */
export const deleteOldImports = async (pool: Pool): Promise<number> => {
  const { rowCount } = await pool.query(
    `DELETE FROM imports.imports WHERE id IN (
       SELECT id FROM (SELECT id, status, ended_at, leased_until,
                         sum(bytes) OVER (PARTITION BY account ORDER BY started_at DESC) AS total
                       FROM imports.imports) AS i
       WHERE ended_at < clock_timestamp() - $1 * interval '1 day' OR (ended_at IS NOT NULL AND total > $3)
          OR (status = 'receiving' AND leased_until < clock_timestamp()) LIMIT $2)`,
    [keepDays, deletedTogether, maxOutcomeBytes],
  );
  return rowCount ?? 0;
};
