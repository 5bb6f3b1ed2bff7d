import type { UnreadableRecord } from './replay.js';
import { count } from '../../cli/output.js';

/** So many are named one by one; the others are counted. */
const namedAtMost = 20;

/** Records that hold no event were left out, so what was told is not all that the log has. */
export class RecordsLeftOut extends Error {
  readonly code = 'RECORDS_LEFT_OUT';
  readonly retryable = false;
}

/** Names on stderr each record that cannot be told, and knows at the end whether there were any. */
export const reportUnreadable = () => {
  let records = 0;
  return {
    take: ({ topic, partition, offset, reason }: UnreadableRecord): void => {
      records += 1;
      if (records > namedAtMost) return;
      // What a foreign writer wrote is not for the terminal to obey.
      const plain = reason.replaceAll(/[\s\p{Cc}]+/gu, ' ');
      process.stderr.write(`linklog: ${topic}/${partition} at offset ${offset}: ${plain}\n`);
    },
    count: () => records,
    /** A word about them all, if there were any. */
    summary(): string | undefined {
      if (records === 0) return undefined;
      const were = records === 1 ? '1 record was' : `${count(records)} records were`;
      const named = records > namedAtMost ? `, of which the first ${namedAtMost} are named` : '';
      return `${were} left out, for no event can be read there${named}`;
    },
  };
};
