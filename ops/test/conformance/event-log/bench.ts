import type { TopicName } from '../../../../schemas/events/topics.js';
import type { EventLog } from '../../../event-log/port.js';
import type { LogHarness } from './harness.js';
import { Positions, startReader, type LogReader, type ReaderOptions } from './reader.js';

/**
 * What the tests of the suite work with. The log is one and the same for all of them, because some
 * logs cannot be emptied: a test begins where the log ends.
 */
export interface LogBench {
  readonly log: EventLog;
  readonly harness: LogHarness;
  readonly ends: (names: readonly TopicName[]) => Promise<Positions>;
  /** Starts a reader that is stopped after the test; of another client's log, if one is given. */
  readonly follow: (options: ReaderOptions, log?: EventLog) => LogReader;
  /** Runs after the test, before its readers are stopped: lets go of what a handler waits for. */
  readonly afterwards: (release: () => void) => void;
}

/** A server's programs may have to be fetched first. */
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
    if (!bench) throw new Error('The log is open only while tests run');
    return bench;
  };
};
