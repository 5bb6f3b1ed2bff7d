import type { UnreadableRecord } from './replay.js';
import { count, type Answer } from '../../cli/output.js';

/** Only the first records are reported one by one. */
const namedAtMost = 20;

export const reportUnreadable = () => {
  let records = 0;
  return {
    take: ({ topic, partition, offset, reason }: UnreadableRecord): void => {
      records += 1;
      if (records > namedAtMost) return;
      // Removes control characters, because another writer may have chosen the text.
      const plain = reason.replaceAll(/[\s\p{Cc}]+/gu, ' ');
      process.stderr.write(`linklog: ${topic}/${partition} at offset ${offset}: ${plain}\n`);
    },
    count: () => records,
    outcome(): Pick<Answer, 'notice' | 'exitCode'> {
      if (records === 0) return {};
      const were = records === 1 ? '1 record was' : `${count(records)} records were`;
      const named = records > namedAtMost ? `, of which the first ${namedAtMost} are named` : '';
      const notice = `${were} left out, for no event can be read there${named}`;
      return { notice, exitCode: 1 };
    },
  };
};
