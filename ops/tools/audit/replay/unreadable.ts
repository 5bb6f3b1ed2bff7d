import type { UnreadableRecord } from './replay.js';
import { counted, type Output } from '../../cli/output.js';

/** Only the first records are reported one by one. */
const maxReported = 20;

export const reportUnreadable = () => {
  let records = 0;
  return {
    report: ({ topic, partition, offset, reason }: UnreadableRecord): void => {
      records += 1;
      if (records > maxReported) return;
      // Removes control characters, because another writer may have chosen the text.
      const plain = reason.replaceAll(/[\s\p{Cc}]+/gu, ' ');
      process.stderr.write(`linklog: ${topic}/${partition} at offset ${offset}: ${plain}\n`);
    },
    count: () => records,
    outcome(): Pick<Output, 'notice' | 'exitCode'> {
      if (records === 0) return {};
      const omitted = `${counted(records, 'unreadable record')} omitted`;
      const listed = records > maxReported ? `; the first ${maxReported} are listed` : '';
      return { notice: omitted + listed, exitCode: 1 };
    },
  };
};
