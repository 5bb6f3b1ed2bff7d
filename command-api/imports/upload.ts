/** Receives import files: reads their records as they arrive, and stores them in portions. */
import { EventLoopShare, periodically } from '../../ops/platform/concurrency/periodic.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { newId } from '../../ops/platform/new-id.js';
import type { ImportQuery, ImportSource } from '../../schemas/http/imports.js';
import { decodeFile, prepend } from './formats/decode.js';
import { maxColumns } from './formats/csv-columns.js';
import { detectFormat, readers } from './formats/formats.js';
import {
  cut,
  ImportFileFault,
  invalidRecord,
  type FileText,
  type SourceRecord,
} from './formats/records.js';
import { scanLength } from './formats/scan.js';
import { visitFault } from './imported-visit.js';
import {
  deleteImport,
  insertImport,
  insertPortion,
  insertVisits,
  maxListedRows,
  renewUpload,
  startImport,
  writeRecord,
  type LinkRecord,
  type NewImport,
  type NumberedVisit,
} from './store.js';

/** Records of a portion, and characters of its JSON. One transaction creates its links. */
const portion = { records: 500, characters: 500_000 };

/** Visits that are stored together. */
const visitsTogether = 2_000;

/** Characters of the name of an ignored column. */
const maxColumnName = 100;

/** How often an upload renews its lease (ms). */
const renewEveryMs = 5_000;

/** The file is larger than the limit. */
export class ImportTooLarge extends Error {
  readonly code = 'IMPORT_TOO_LARGE';
}

type Bytes = AsyncIterable<Uint8Array>;

/** The slowest upload, so that clients that send nearly nothing do not take the places of others. */
const least = { bytesPerSecond: 1_000, overMs: 10_000 };

/** The client sends too little. */
export class UploadTooSlow extends Error {
  readonly code = 'UPLOAD_TOO_SLOW';
}

/**
 * Passes chunks on while the client sends enough of them. Only the time in which the reader waits for the client counts.
 *
 * @param now milliseconds
 * @throws UploadTooSlow
 */
export async function* requireRate(
  chunks: Bytes,
  now: () => number = () => performance.now(),
): Bytes {
  let waitedMs = 0;
  let bytes = 0;
  let waitsSince = now();
  for await (const chunk of chunks) {
    waitedMs += now() - waitsSince;
    bytes += chunk.length;
    if (waitedMs >= least.overMs) {
      if (bytes < (waitedMs / 1_000) * least.bytesPerSecond) {
        throw new UploadTooSlow(`${bytes} bytes in ${Math.round(waitedMs)} ms`);
      }
      waitedMs = 0;
      bytes = 0;
    }
    yield chunk;
    waitsSince = now();
  }
}

/** @throws ImportTooLarge */
async function* bounded(chunks: Bytes, maxBytes: number): Bytes {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > maxBytes) throw new ImportTooLarge(`the file has more than ${maxBytes} bytes`);
    yield chunk;
  }
}

/** Lets other requests run between the chunks of a text: 16 KB of gzip can have 17 MB of it. */
async function* inIterations(
  chunks: AsyncIterable<string>,
  share: EventLoopShare,
): AsyncIterable<string> {
  for await (const chunk of chunks) {
    yield chunk;
    if (share.isUsedUp) await share.renew();
  }
}

/** The start of a text that detection needs, and the whole text. */
const splitHead = async (chunks: AsyncIterable<string>): Promise<FileText> => {
  const iterator = chunks[Symbol.asyncIterator]();
  let head = '';
  while (head.length < scanLength) {
    const next = await iterator.next();
    if (next.done === true) break;
    head += next.value;
  }
  return { head, text: prepend(head, iterator) };
};

/** Stores the records of a file. */
class PortionWriter {
  /** The number of complete portions. */
  portions = 0;
  /** Invalid records that are counted, and not stored. */
  unlisted = 0;
  #invalid = 0;
  #records: string[] = [];
  #characters = 0;
  #visits: NumberedVisit[] = [];
  #visitNumber = 0;

  constructor(
    private readonly pool: Pool,
    private readonly id: string,
  ) {}

  async add(record: LinkRecord): Promise<void> {
    if (record.type === 'invalid') {
      this.#invalid += 1;
      if (this.#invalid > maxListedRows) {
        this.unlisted += 1;
        return;
      }
    }
    const json = writeRecord(record);
    this.#records.push(json);
    this.#characters += json.length;
    const isFull =
      this.#records.length === portion.records || this.#characters >= portion.characters;
    if (isFull) await this.#endPortion();
  }

  async addVisit({ visit }: Extract<SourceRecord, { readonly type: 'visit' }>): Promise<void> {
    this.#visitNumber += 1;
    this.#visits.push({ number: this.#visitNumber, visit });
    if (this.#visits.length === visitsTogether) await this.#storeVisits();
  }

  async end(): Promise<void> {
    if (this.#records.length > 0) await this.#endPortion();
    if (this.#visits.length > 0) await this.#storeVisits();
  }

  async #endPortion(): Promise<void> {
    const records = `[${this.#records.join()}]`;
    this.#records = [];
    this.#characters = 0;
    await insertPortion(this.pool, this.id, this.portions, records);
    this.portions += 1;
  }

  async #storeVisits(): Promise<void> {
    const visits = this.#visits;
    this.#visits = [];
    await insertVisits(this.pool, this.id, visits);
  }
}

export type UploadRequest = Omit<NewImport, 'id' | 'format' | 'options'> & {
  readonly query: ImportQuery;
  readonly chunks: Bytes;
  /** The largest file as it is sent; `Infinity`: no limit. */
  readonly maxBytes: number;
};

const unknownFormat =
  'The format of the file was not recognised. Name it in the parameter format, and check the header of a CSV file, ' +
  `which has at most ${maxColumns} columns.`;

/**
 * Stores a file and starts its import. Returns the id of the import.
 *
 * @param maxRows visits of a client count, too
 * @throws ImportTooLarge
 * @throws UploadTooSlow
 * @throws ImportFileFault if the file as a whole cannot be read. If only its end cannot, the last row has the reason
 */
export const receiveFile = async (
  pool: Pool,
  logger: Logger,
  request: UploadRequest,
  maxRows = 10_000_000,
): Promise<string> => {
  const { query, chunks, maxBytes, ...owner } = request;
  const share = new EventLoopShare();
  const bytes = bounded(requireRate(chunks), maxBytes);
  const { encoding } = query;
  const file = await splitHead(inIterations(decodeFile(bytes, { maxBytes, encoding }), share));
  const format: ImportSource | null =
    query.format === 'auto' ? detectFormat(file.head) : query.format;
  if (format === null) throw new ImportFileFault(unknownFormat);
  const { domain = null, onConflict, dryRun, visits, linkZone, visitZone } = query;
  const id = newId();
  const now = new Date();
  const options = { domain, onConflict, dryRun, visits: visits && !dryRun };
  await insertImport(pool, { id, ...owner, format, options });
  const renewal = periodically({
    ...{ name: 'renew the lease of an upload', everyMs: renewEveryMs, logger },
    task: () => renewUpload(pool, id),
  });
  try {
    const writer = new PortionWriter(pool, id);
    let lastRow = 0;
    let rows = 0;
    let ignoredColumns: readonly string[] = [];
    const onIgnoredColumns = (names: readonly string[]): void => {
      ignoredColumns = names.map((name) => cut(name, maxColumnName));
    };
    const readerOptions = { linkZone, visitZone, onIgnoredColumns };
    try {
      for await (const record of readers[format](file, readerOptions)) {
        if (share.isUsedUp) await share.renew();
        lastRow = record.row;
        if (record.type !== 'visit' || owner.keyId !== null) rows += 1;
        if (rows > maxRows) {
          throw new ImportFileFault(`The file has more than ${maxRows.toLocaleString('en')} rows.`);
        }
        if (record.type !== 'visit') await writer.add(record);
        else if (options.visits) {
          const fault = visitFault(record.visit, now);
          if (fault === null) await writer.addVisit(record);
          else await writer.add(invalidRecord(record.row, fault, { code: record.visit.code }));
        }
      }
    } catch (error) {
      if (!(error instanceof ImportFileFault) || lastRow === 0) throw error;
      await writer.add(invalidRecord(lastRow + 1, error.message));
    }
    await writer.end();
    const { portions, unlisted } = writer;
    await startImport(pool, id, { portions, unlisted, ignoredColumns });
  } catch (error) {
    await deleteImport(pool, id);
    throw error;
  } finally {
    await renewal.stop();
  }
  return id;
};
