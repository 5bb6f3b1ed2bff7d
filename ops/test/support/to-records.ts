import { readLines } from '../../event-log/lines.js';
import type { NewLines, NewRecord } from '../../event-log/port.js';

/** Splits the lines of an append into records. */
export const toRecords = <Record extends NewRecord>(
  records: readonly (Record | NewLines)[],
): readonly (Record | NewRecord)[] =>
  records.flatMap((item) => ('lines' in item ? readLines(item.lines.toString()) : item));
