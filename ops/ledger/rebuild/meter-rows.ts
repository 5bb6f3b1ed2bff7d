import type { KeyMeter } from '../../../schemas/folds/key-meter.js';
import type { LedgerSchema } from '../decide.js';
import type { Client } from '../../platform/postgres/pool.js';

/** The keys' meters as far as they are folds of the log; locked until the transaction ends. */
export const lockKeyMeters = async (
  tx: Client,
  keyIds: readonly string[],
  schema: LedgerSchema,
): Promise<ReadonlyMap<string, KeyMeter>> => {
  const { rows } = await tx.query<KeyMeter & { keyId: string }>(
    `SELECT key_id AS "keyId", month, month_calls AS calls, month_links AS links,
            month_qr_codes AS "qrCodes", usage_sequence AS "usageSequence"
     FROM ${schema}.key_meters WHERE key_id = ANY ($1::text[]) ORDER BY key_id FOR UPDATE`,
    [[...new Set(keyIds)]],
  );
  return new Map(rows.map(({ keyId, ...meter }) => [keyId, meter]));
};

/** Writes meters that the transaction has locked. A key that was never made has none. */
export const saveKeyMeters = async (
  tx: Client,
  meters: ReadonlyMap<string, KeyMeter>,
  schema: LedgerSchema,
): Promise<void> => {
  const all = [...meters.values()];
  await tx.query(
    `UPDATE ${schema}.key_meters m
     SET month = i.month, month_calls = i.calls, month_links = i.links,
         month_qr_codes = i.qr_codes, usage_sequence = i.usage_sequence
     FROM unnest($1::text[], $2::date[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
       AS i (key_id, month, calls, links, qr_codes, usage_sequence)
     WHERE m.key_id = i.key_id`,
    [
      [...meters.keys()],
      all.map(({ month }) => month),
      all.map(({ calls }) => calls),
      all.map(({ links }) => links),
      all.map(({ qrCodes }) => qrCodes),
      all.map(({ usageSequence }) => usageSequence),
    ],
  );
};
