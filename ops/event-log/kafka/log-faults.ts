import { setTimeout as sleep } from 'node:timers/promises';
import { topics, type TopicName } from '../../../schemas/events/topics.js';
import { untilAborted } from '../../platform/concurrency/deferred.js';
import { periodically, type Periodic } from '../../platform/concurrency/periodic.js';
import { DependencyFault } from '../../platform/errors.js';
import type { Logger } from '../../platform/logging.js';
import type { Gauges } from '../../platform/metrics/figure.js';
import type { KnownEnd, PartitionRange } from '../port.js';

/** A topic with records is missing. It is not created again, because it would be empty. */
export class TopicMissing extends Error {
  readonly code = 'TOPIC_MISSING';

  constructor(name: string) {
    super(`topic ${name} is missing: it was deleted in Kafka, with its records`);
  }
}

export interface TopicState {
  readonly topic: TopicName;
  /** The name with the prefix of the installation. */
  readonly name: string;
  /** All partitions in order, including added ones; `null` if the topic is missing. */
  readonly partitions: readonly PartitionRange[] | null;
}

/** Kinds of faults, the most severe first. With a `degraded` fault, everything is served. */
const faultKinds = {
  missing: { code: 'TOPIC_MISSING', severity: 'down' },
  fewer: { code: 'TOPIC_DIFFERS', severity: 'down' },
  truncated: { code: 'LOG_TRUNCATED', severity: 'down' },
  cut: { code: 'LOG_CUT', severity: 'degraded' },
  extended: { code: 'TOPIC_EXTENDED', severity: 'degraded' },
} as const;

type FaultKind = keyof typeof faultKinds;

const kinds = Object.keys(faultKinds) as readonly FaultKind[];

export interface LogFault {
  readonly kind: FaultKind;
  /** Names topic and partition. */
  readonly message: string;
  /** Equal for the same fault in a later check, although its offsets may differ. */
  readonly key: string;
}

const topicFaults = (
  { topic, name, partitions }: TopicState,
  knownEnds: readonly KnownEnd[],
): LogFault[] => {
  const fault = (kind: FaultKind, message: string, key: number | string = ''): LogFault => ({
    kind,
    message,
    key: `${kind} ${name} ${key}`,
  });
  if (partitions === null) {
    return [fault('missing', new TopicMissing(name).message)];
  }
  const count = Object.values(topics).find((known) => known.name === topic)?.partitions ?? 0;
  const found = partitions.length;
  if (found < count) {
    return [fault('fewer', `topic ${name} has ${found} partitions, this version needs ${count}`)];
  }
  const faults: LogFault[] = [];
  for (const { partition, first, next } of partitions.slice(0, count)) {
    const label = `${name}/${partition}`;
    const known = Math.max(
      0,
      ...knownEnds
        .filter((end) => end.topic === topic && end.partition === partition)
        .map((end) => end.next),
    );
    if (next < known) {
      const message = `${label} ends at offset ${next}, and had ${known} records: its end was lost in Kafka`;
      faults.push(fault('truncated', message, partition));
    }
    if (first > 0) {
      const message = `${label} begins at offset ${first}: the records before it were deleted in Kafka`;
      faults.push(fault('cut', message, partition));
    }
  }
  if (found > count) {
    const isUsed = partitions.slice(count).some(({ next }) => next > 0);
    const message =
      `topic ${name} has ${found} partitions, Linklog uses ${count}: those added are ignored` +
      (isUsed ? '; they contain records of another producer' : '');
    faults.push(fault('extended', message, isUsed ? 'used' : 'empty'));
  }
  return faults;
};

/** Returns the faults, the most severe first. `knownEnds` must be read before `states`, or new records count as lost. */
export const faultsOf = (
  states: readonly TopicState[],
  knownEnds: readonly KnownEnd[],
): readonly LogFault[] =>
  states
    .flatMap((state) => topicFaults(state, knownEnds))
    .sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind));

/** Summarizes the faults for health reports and log lines; `null` if there are none. */
export const summarize = (faults: readonly LogFault[]): DependencyFault | null => {
  const [worst] = faults;
  if (!worst) return null;
  const { code, severity } = faultKinds[worst.kind];
  const more = faults.length > 1 ? `; and ${faults.length - 1} more` : '';
  return new DependencyFault(code, `${worst.message}${more}`, severity);
};

export const exposeLogFaults = (metrics: Gauges, faults: () => readonly LogFault[]): void => {
  metrics.gauge({
    name: 'linklog_log_faults',
    help: 'Topics and partitions in Kafka that are missing, cut or extended, as of the last check',
    labels: ['code'],
    shared: true,
    read: () =>
      kinds.map((kind) => [
        { code: faultKinds[kind].code },
        faults().filter((fault) => fault.kind === kind).length,
      ]),
  });
};

const everyMs = 15_000;
/** A broker may not know a new topic or the end of a partition yet (ms). */
const confirmAfterMs = 1_000;

const keysOf = (faults: readonly LogFault[]): string => faults.map(({ key }) => key).join();

interface FaultWatch extends Periodic {
  readonly faults: () => readonly LogFault[];
}

/** Checks for faults periodically, and logs each change that a second check confirms. */
export const watchFaults = ({
  find,
  logger,
}: {
  /** Rejects while Kafka is unavailable. */
  readonly find: () => Promise<readonly LogFault[]>;
  readonly logger: Logger;
}): FaultWatch => {
  let current: readonly LogFault[] = [];
  const stopping = new AbortController();
  const { signal } = stopping;

  const report = (): void => {
    const summary = summarize(current);
    if (!summary) {
      logger.info('the log in Kafka has no faults any more');
      return;
    }
    const { code, message: detail, severity } = summary;
    const level = severity === 'down' ? 'error' : 'warn';
    logger[level]({ code, detail, faults: current.length }, 'the log in Kafka has faults');
  };

  const check = async (): Promise<void> => {
    try {
      const found = await untilAborted(find(), signal);
      if (keysOf(found) === keysOf(current)) return;
      await sleep(confirmAfterMs, undefined, { signal });
      const confirmed = await untilAborted(find(), signal);
      if (keysOf(confirmed) !== keysOf(found)) return;
      current = confirmed;
      report();
    } catch (err) {
      // Kafka is unavailable, which its users report. The known faults remain.
      logger.debug({ err }, 'the log in Kafka could not be checked for faults');
    }
  };

  const checks = periodically({ name: 'check the log in Kafka', everyMs, task: check, logger });
  return {
    faults: () => current,
    async stop() {
      stopping.abort(new Error('the watch was stopped'));
      await checks.stop();
    },
  };
};
