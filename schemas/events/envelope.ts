import { z } from 'zod';

/** ISO 8601 UTC with milliseconds, as `Date.prototype.toISOString` writes it. */
export const timestamp = z.iso.datetime({ precision: 3 });

export const sequenceDigits = 16;

/**
 * The order of first occurrences: per subject and topic for events of the ledger, per spool for
 * visits (then the spool is the `source`). On the wire a string of fixed width, because CloudEvents'
 * integers end at 2^31 and its `sequence` extension asks for strings that sort.
 */
const sequence = z
  .string()
  .regex(new RegExp(`^\\d{${sequenceDigits}}$`))
  .transform(Number)
  .pipe(z.int().min(1));

/** A sequence as it stands on the wire. */
export const writeSequence = (value: number): string => String(value).padStart(sequenceDigits, '0');

/** CloudEvents 1.0, structured mode: the same JSON object in every log, export and archive. */
export const envelope = z.strictObject({
  specversion: z.literal('1.0'),
  /** A UUIDv7; of a visit that a spool numbered its sequence, which is unique in its `source`. */
  id: z.union([z.uuid(), z.string().regex(/^[1-9]\d{0,15}$/)]),
  /** `linklog.<Name>.v<version>`. */
  type: z.string(),
  /** Who numbered it: the ledger, or one edge's spool. */
  source: z.string().min(1),
  /** Short code, key id, alias or `platform`; also the record's key in the log. */
  subject: z.string().min(1),
  time: timestamp,
  datacontenttype: z.literal('application/json'),
  sequence,
  /** The account that the subject belongs to. */
  account: z.string().min(1).optional(),
  /** Who did it: a key's id, an operator's name, or `system`. */
  actor: z.string().min(1).optional(),
  /** The id of the request that caused it. */
  correlationid: z.string().min(1).optional(),
  /** The id of the event that caused it. */
  causationid: z.string().min(1).optional(),
  data: z.unknown(),
});

/** The envelope as code sees it: `sequence` is a number there. */
export type Envelope = z.output<typeof envelope>;

/** The `source` of every event that the ledger decided. */
export const ledgerSource = '/linklog/ledger';

const spoolSourcePrefix = '/linklog/spool/';

/** The `source` of the visits that one spool numbered. */
export const spoolSource = (spoolId: string): string => spoolSourcePrefix + spoolId;

/**
 * Whose sequence an event carries: readers drop what is not above the highest that they have seen
 * of this origin in this topic and partition.
 */
export const originOf = (event: Pick<Envelope, 'source' | 'subject'>): string =>
  event.source === ledgerSource ? event.subject : event.source;
