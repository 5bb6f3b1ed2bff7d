/** The records of an import file, as a reader of its format returns them. Nothing is validated yet. */
import type { RedirectRule } from '../../../schemas/redirect-rules.js';

/** A link of another service. `null`: the file has no such value. */
export interface SourceLink {
  /** Percent-decoded, without slash before it; otherwise as in the file. */
  readonly code: string;
  /** The host of the short URL, in lower case without port. */
  readonly domain: string | null;
  readonly url: string;
  readonly title: string | null;
  readonly note: string | null;
  readonly tags: readonly string[];
  /** Times are RFC 3339 in UTC with milliseconds. */
  readonly createdAt: string | null;
  readonly startsAt: string | null;
  readonly expiresAt: string | null;
  readonly maxClicks: number | null;
  /** All clicks so far. */
  readonly clicks: number;
  readonly disabled: boolean;
  readonly hasPassword: boolean;
  readonly forwardQuery: boolean;
  readonly rules: readonly RedirectRule[];
  /** What the reader changed or left out, for the outcome of the row: complete sentences. */
  readonly messages: readonly string[];
}

/** A visit of another service. It has no address. */
export interface SourceVisit {
  readonly code: string;
  readonly domain: string | null;
  /** RFC 3339 in UTC with milliseconds. */
  readonly time: string;
  /** ISO 3166-1 alpha-2 in upper case. */
  readonly country: string | null;
  /** URL or host; `null` for direct visits. */
  readonly referrer: string | null;
  readonly userAgent: string | null;
}

/** `row`: the line on which the record starts, from 1. */
export type SourceRecord =
  | { readonly type: 'link'; readonly row: number; readonly link: SourceLink }
  | { readonly type: 'visit'; readonly row: number; readonly visit: SourceVisit }
  | {
      readonly type: 'invalid';
      readonly row: number;
      /** For the outcome, as far as they are known; at most 2,048 characters. */
      readonly code: string | null;
      readonly url: string | null;
      readonly message: string;
    };

export interface ReaderOptions {
  /** IANA zones of times without an offset: of links, and of visits. */
  readonly linkZone: string;
  readonly visitZone: string;
}

/**
 * Reads the records of a file. The memory that it uses does not depend on the length of the file, and every record is
 * bounded. One malformed record is an `invalid` one, and the records after it are read.
 *
 * @throws ImportFileFault if the file as a whole is not of the format
 */
export type SourceReader = (
  text: AsyncIterable<string>,
  options: ReaderOptions,
) => AsyncIterable<SourceRecord>;

/** The file cannot be read. The message is for the client. */
export class ImportFileFault extends Error {
  readonly code = 'IMPORT_FILE_FAULT';
}

/** The longest record of a file, in characters. */
export const maxRecordLength = 100_000;
