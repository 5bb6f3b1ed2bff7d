import type { TopicName } from '../../../../schemas/events/topics.js';
import type { EventLog } from '../../../event-log/port.js';
import type { LogHarness } from './harness.js';
import { Positions, startReader, type LogReader, type ReaderOptions } from './reader.js';

/**
 * The log of all tests of the suite. Some logs cannot be truncated, so a test starts at the end of the log.
 */
export interface LogBench {
  readonly log: EventLog;
  readonly harness: LogHarness;
  readonly ends: (names: readonly TopicName[]) => Promise<Positions>;
  /** Starts a reader, by default of `log`; it is stopped after the test. */
  readonly follow: (options: ReaderOptions, log?: EventLog) => LogReader;
  /** Registers a function that unblocks handlers, before the readers are stopped. */
  readonly afterwards: (release: () => void) => void;
}

/** Kafka may have to be downloaded first. */
const openMs = 300_000;

/** Opens the log for the tests of the surrounding `describe`. */
export const benchOf = (open: () => Promise<LogHarness>): (() => LogBench) => {
  let bench: LogBench | null = null;
  let readers: LogReader[] = [];
  let releases: (() => void)[] = [];

  before(async function () {
    this.timeout(openMs);
    const harness = await open();
    const { log } = await harness.connect();
    bench = {
      log,
      harness,
      ends: (names) => Positions.atEnd(log, names),
      follow(options, otherLog = log) {
        const reader = startReader(otherLog, options);
        readers.push(reader);
        return reader;
      },
      afterwards(release) {
        releases.push(release);
      },
    };
  });

  afterEach(async () => {
    for (const release of releases) release();
    await Promise.all(readers.map(({ subscription }) => subscription.stop()));
    readers = [];
    releases = [];
  });

  after(() => bench?.harness.close());

  return () => {
    if (!bench) throw new Error('the log is open only during tests');
    return bench;
  };
};
