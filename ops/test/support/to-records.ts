import { readLines } from '../../event-log/lines.js';
import type { NewLines, NewRecord } from '../../event-log/port.js';

/** What an append was given, each record by itself. */
export const toRecords = <Record extends NewRecord>(
  records: readonly (Record | NewLines)[],
): readonly (Record | NewRecord)[] =>
  records.flatMap((one) => ('lines' in one ? readLines(one.lines.toString()) : one));
