import { isLine, lineLimits } from '../../ops/event-log/lines.js';
import { partitionOf } from '../../ops/event-log/partition.js';
import type { NewLines, NewRecord } from '../../ops/event-log/port.js';
import { topics } from '../../schemas/events/topics.js';

const { partitions } = topics.visits;
const initialBytes = 16 * 1_024;
const lineFeed = 0x0a;

/** The current lines of a partition. */
export interface OpenLines {
  bytes: Buffer;
  start: number;
  /** The offset of the next byte. */
  end: number;
  records: number;
}

/** Writes records of visits as lines. Each partition has a buffer that is reused for the next shipment. */
export class LineWriter {
  readonly #open = Array.from({ length: partitions }, (): OpenLines => {
    return { bytes: Buffer.allocUnsafeSlow(initialBytes), start: 0, end: 0, records: 0 };
  });
  #written: (NewRecord | NewLines)[] = [];

  /** Begins a line. The caller writes at most `maxBytes`, and advances `end`. */
  begin(partition: number, maxBytes: number): OpenLines {
    const lines = this.#linesOf(partition);
    if (
      lines.records === lineLimits.records ||
      lines.end + 1 + maxBytes - lines.start > lineLimits.bytes
    ) {
      this.#finish(partition);
    }
    const needed = lines.end + 1 + maxBytes;
    if (needed > lines.bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * lines.bytes.length));
      lines.bytes.copy(grown, 0, 0, lines.end);
      lines.bytes = grown;
    }
    if (lines.records > 0) {
      lines.bytes[lines.end] = lineFeed;
      lines.end += 1;
    }
    lines.records += 1;
    return lines;
  }

  add(record: NewRecord): void {
    const { key, value } = record;
    const partition = partitionOf(key, partitions);
    if (isLine(record)) {
      const lines = this.begin(partition, Buffer.byteLength(value));
      lines.end += lines.bytes.write(value, lines.end);
    } else {
      this.#finish(partition);
      this.#written.push(record);
    }
  }

  /** All written records. Their bytes are valid until the next write. */
  take(): readonly (NewRecord | NewLines)[] {
    for (let partition = 0; partition < partitions; partition += 1) {
      this.#finish(partition);
      const lines = this.#linesOf(partition);
      lines.start = 0;
      lines.end = 0;
    }
    const written = this.#written;
    this.#written = [];
    return written;
  }

  #linesOf(partition: number): OpenLines {
    const lines = this.#open[partition];
    if (!lines) throw new RangeError(`partition ${partition} of ${partitions} does not exist`);
    return lines;
  }

  #finish(partition: number): void {
    const lines = this.#linesOf(partition);
    const { bytes, start, end, records } = lines;
    if (records === 0) return;
    this.#written.push({ partition, records, lines: bytes.subarray(start, end) });
    lines.start = end;
    lines.records = 0;
  }
}
