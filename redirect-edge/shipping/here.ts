import type { Ship, SpoolRecord } from '../spool/ports.js';
import { decodeRecords } from '../spool/record.js';

const maxBatchRecords = 1_000;

/** Ships on the event loop that asks for it. */
export const shipHere =
  (append: (records: readonly SpoolRecord[]) => Promise<void>): Ship =>
  async (chunk) => {
    const { records, bytes } = decodeRecords(chunk, maxBatchRecords);
    if (records.length > 0) await append(records);
    return { records: records.length, bytes, through: records.at(-1)?.sequence ?? 0 };
  };
