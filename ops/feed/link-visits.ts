import { isVisit, type EventNamed } from '../../schemas/events/catalogue.js';
import { readKnownEvent } from '../../schemas/events/codec.js';
import { originOf } from '../../schemas/events/envelope.js';
import { topics } from '../../schemas/events/topics.js';
import type { EventLog } from '../event-log/port.js';
import { partitionOf } from '../event-log/partition.js';
import { offsetOfTime } from './offset-of-time.js';

type Visit = EventNamed<'LinkVisited'>;

interface VisitsPortion {
  readonly visits: readonly Visit[];
  /** Records of the partition up to the end of this portion. */
  readonly examined: number;
}

/** Records of the partition between two portions. PostgreSQL reads them in 15 ms. */
const recordsOfRead = 10_000;
/** Records of the link in a portion; the main thread parses them in about 2 ms. */
const visitsOfPortion = 250;

/**
 * Reads the visits of a link that were appended since about a time, in the order of the log and without repeats, to the
 * end of the log.
 *
 * @param since milliseconds since 1970
 */
export async function* readLinkVisits(
  log: Pick<EventLog, 'read' | 'ranges'>,
  subject: string,
  since: number,
): AsyncGenerator<VisitsPortion> {
  const topic = topics.visits.name;
  const partition = partitionOf(subject, topics.visits.partitions);
  const range = (await log.ranges(topic)).find((known) => known.partition === partition);
  if (!range) throw new RangeError(`${topic} has no partition ${partition}`);
  const from = await offsetOfTime(log, { topic, partition }, range, since);
  const named = `"subject":${JSON.stringify(subject)}`;
  /** The last sequence of each origin. */
  const last = new Map<string, number>();
  const parse = (value: string): readonly Visit[] => {
    const event = readKnownEvent(value);
    if (!event || !isVisit(event)) return [];
    const origin = originOf(event);
    if (event.sequence <= (last.get(origin) ?? 0)) return [];
    last.set(origin, event.sequence);
    return [event];
  };
  for (let at = from; at < range.next; at += recordsOfRead) {
    const to = Math.min(range.next, at + recordsOfRead);
    for await (const { records } of log.read(topic, partition, at, to, named)) {
      const found = records.filter(({ key }) => key === subject);
      for (let index = 0; index < found.length; index += visitsOfPortion) {
        const portion = found.slice(index, index + visitsOfPortion);
        const examined = (portion.at(-1)?.offset ?? at) + 1 - from;
        yield { visits: portion.flatMap(({ value }) => parse(value)), examined };
      }
    }
    yield { visits: [], examined: to - from };
  }
}
