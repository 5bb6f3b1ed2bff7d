import type { UnreadableRecord } from './replay.js';
import { count, type Answer } from '../../cli/output.js';

/** So many are named one by one; the others are counted. */
const namedAtMost = 20;

/** Names on stderr each record without an event, and counts them: the output lacks these records. */
export const reportUnreadable = () => {
  let records = 0;
  return {
    take: ({ topic, partition, offset, reason }: UnreadableRecord): void => {
      records += 1;
      if (records > namedAtMost) return;
      // A foreign writer's text must not control the terminal.
      const plain = reason.replaceAll(/[\s\p{Cc}]+/gu, ' ');
      process.stderr.write(`linklog: ${topic}/${partition} at offset ${offset}: ${plain}\n`);
    },
    count: () => records,
    /** A failure if there were any. */
    outcome(): Pick<Answer, 'notice' | 'exitCode'> {
      if (records === 0) return {};
      const were = records === 1 ? '1 record was' : `${count(records)} records were`;
      const named = records > namedAtMost ? `, of which the first ${namedAtMost} are named` : '';
      const notice = `${were} left out, for no event can be read there${named}`;
      return { notice, exitCode: 1 };
    },
  };
};
