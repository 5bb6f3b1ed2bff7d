import { z } from 'zod';
import { traceparent } from '../traceparent.js';

/** ISO 8601 UTC with milliseconds, as `Date.prototype.toISOString` writes it. */
export const timestamp = z.iso.datetime({ precision: 3 });

const sequenceDigits = 16;

/**
 * The order of events: for each subject and topic of the ledger's events, and for each `source` of visits. It ascends by 1.
 * The JSON has a string of fixed width, because CloudEvents integers have 32 bits, and its `sequence` extension
 * requires strings that sort.
 */
const sequence = z
  .string()
  .regex(new RegExp(`^\\d{${sequenceDigits}}$`))
  .transform(Number)
  .pipe(z.int().min(1));

/** A sequence in its JSON form. */
export const writeSequence = (value: number): string => String(value).padStart(sequenceDigits, '0');

/** CloudEvents 1.0, structured mode: the same JSON object in every log, export and archive. */
export const envelope = z.strictObject({
  specversion: z.literal('1.0').describe('The version of CloudEvents.'),
  /** A UUIDv7, or for visits of a spool or an import their sequence, which is unique in its `source`. */
  id: z
    .union([z.uuid(), z.string().regex(/^[1-9]\d{0,15}$/)])
    .describe('Unique together with `source`.'),
  type: z.string().describe('`linklog.<Name>.v<version>`.'),
  source: z.string().min(1).describe('`/linklog/ledger`; of visits, the spool or the import.'),
  /** It is also the key of the record. See `link-subject.ts`. */
  subject: z
    .string()
    .min(1)
    .describe(
      'A link (`code`, on own domains `domain/code`), key ID, alias, domain, webhook ID, share ID, ID of a person or an invitation, UTM template (`account:name`), or `platform`.',
    ),
  time: timestamp.describe('When it happened, UTC; of imported visits, at the other service.'),
  datacontenttype: z.literal('application/json').describe('The media type of `data`.'),
  sequence: sequence.describe(
    'Increases with each event of a `subject`; for visits, of a `source`.',
  ),
  account: z.string().min(1).optional().describe('The account of the subject.'),
  /** See `ownActors`. */
  actor: z
    .string()
    .min(1)
    .optional()
    .describe(
      'The ID of a key, `operator` (in the log, the name of the operator), `system`, `web-safety` or `visitor`.',
    ),
  correlationid: z.string().min(1).optional().describe('The ID of the request that caused it.'),
  causationid: z.string().min(1).optional().describe('The ID of the event that caused it.'),
  /** The distributed tracing extension of CloudEvents. */
  traceparent: traceparent
    .optional()
    .describe('The W3C trace context of the request that caused it; visits have none.'),
  client: z
    .string()
    .min(1)
    .optional()
    .describe('The name that the client of the request sent about itself (MCP).'),
  data: z.unknown().describe('Depends on the `type`.'),
});

/** The parsed envelope, in which `sequence` is a number. */
export type Envelope = z.output<typeof envelope>;

export const ledgerSource = '/linklog/ledger';

const spoolSourcePrefix = '/linklog/spool/';

/**
 * The `source` of the visits of one spool in one partition of the log.
 *
 * @param spool `<id>/<partition>`; in older logs only the id, with sequences over all partitions
 */
export const spoolSource = (spool: string): string => spoolSourcePrefix + spool;

const partitionOfSpool = new RegExp(`^${spoolSourcePrefix}([^/]+)/\\d+$`);

/** The id of the spool whose visits have this source; `null` for another source, and in older logs. */
export const spoolIdOf = (source: string): string | null =>
  partitionOfSpool.exec(source)?.[1] ?? null;

const importSourcePrefix = '/linklog/import/';

/**
 * The `source` of the visits of one import. Their sequences are contiguous, from 1. Their times are those of the visits
 * at the other service: see `recordTimeOf`.
 */
export const importSource = (importId: string): string => importSourcePrefix + importId;

/** The id of the import; `null` for another source. */
export const importIdOf = (source: string): string | null =>
  source.startsWith(importSourcePrefix) ? source.slice(importSourcePrefix.length) : null;

/**
 * The origin of an event's sequence. Readers drop an event if its sequence is not above the highest one of this origin
 * in its topic and partition.
 */
export const originOf = (event: Pick<Envelope, 'source' | 'subject'>): string =>
  event.source === ledgerSource ? event.subject : event.source;
