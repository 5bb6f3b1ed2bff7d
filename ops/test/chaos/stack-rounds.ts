import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Checked, checkEverything, checkLive, untilReady } from './check.js';
import {
  responseKinds,
  checkDeadlines,
  noTolerance,
  type Frozen,
  type DeadlineReport,
  type Milliseconds,
  type Timed,
} from './deadlines.js';
import {
  durationOf,
  freezesNode,
  inject,
  movesLeaders,
  nameOf,
  planFaults,
  type Fault,
} from './faults.js';
import { startLinkedStack, type LinkedStack } from './linked-stack.js';
import { withLedger } from '../support/ledger-events.js';
import { eventually } from '../support/waiting.js';
import { startLoad, type Load, type Pace } from './load.js';
import { checkLog } from './log-check.js';
import { countLog, type LogCounts } from './log-counts.js';
import { LogCopy } from './log-copy.js';
import { catchUpFromKafka } from './log-sources.js';
import { noPromises, type PromisedLink } from './promises.js';
import { seededRandom } from '../support/random.js';
import { rebuildAll } from './rebuilds.js';
import { since, type Tally } from './tally.js';
import { issueLoadKeys, writePlans } from './setup.js';

/** A fault and its effects. */
export interface FaultReport {
  readonly fault: Fault;
  /** Milliseconds from the fault until the part ran again. */
  readonly restartMs: number;
  /** Milliseconds from the fault until every node was ready again. */
  readonly readyMs: number;
  /** Milliseconds from the fault until a link was created after that. */
  readonly creatingMs: number;
  /** Duration of the checks, ms. */
  readonly checkMs: number;
  /** Requests of the load from the fault to the end of the checks. */
  readonly tally: Tally;
  /** The longest time without a 201 until a link was created after the fault, ms. */
  readonly withoutLinkMs: number;
  /** The responses since the previous fault. */
  readonly deadlines: DeadlineReport;
  readonly broken: readonly string[];
}

/** Response times of visits of cached links. */
export interface Latency {
  readonly p99Ms: number;
  readonly count: number;
}

export interface Outcome {
  readonly reports: readonly FaultReport[];
  readonly tally: Tally;
  readonly records: number;
  readonly repeats: number;
  /** Acknowledged requests, and their events in Kafka. */
  readonly counts: LogCounts;
  readonly normal: Latency;
  readonly brokerAway: Latency;
  /** Added to each deadline: the worst response time without a fault. */
  readonly tolerance: Milliseconds;
  readonly broken: readonly string[];
}

export interface StackRoundsOptions {
  /** Kafka brokers. */
  readonly brokers: number;
  /** Processes of each service; 2 by default. */
  readonly nodes?: number;
  readonly faults: number;
  /** Additional rolling restarts of the brokers. */
  readonly rolling?: number;
  /** Enables the retries of kafkajs, which lose records: the checks must find that. */
  readonly kafkajsRetries?: boolean;
  /** No fault starts after this time. */
  readonly withinMs?: number;
  readonly seed: number;
  readonly pace: Pace;
  /** The maximum duration of a pause or a link failure; at least 1 s. */
  readonly longestMs: number;
  /** The maximum time between the checks and the next fault. */
  readonly pauseMs: number;
  /** Selects faults; all by default. */
  readonly only?: (fault: Fault) => boolean;
  readonly onProgress?: (line: string) => void;
}

const cachedLatency = (responses: readonly Timed[]): Latency => {
  const sorted = responses
    .filter(({ kind }) => kind === 'cached link')
    .map(({ ms }) => ms)
    .sort((a, b) => a - b);
  return { p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0, count: sorted.length };
};

const failedVisits = ({ edgeRefused, lostVisits }: Tally): number => edgeRefused + lostVisits;

/** The addresses of the node with the fault. */
const nodesOf = (stack: LinkedStack, { part, index }: Fault): readonly string[] => {
  if (part === 'edge') return stack.edges.slice(index, index + 1);
  if (part !== 'api') return [];
  return [...stack.apis.slice(index, index + 1), ...(index === 0 ? [stack.admin] : [])];
};

/** Links that are checked on each edge after each fault; at the end, all links are checked. */
const sampled = { fresh: 200, older: 30 };
/**
 * Precedes the faults: no request needs this process, so the response times during its restart and the checks measure
 * the machine.
 */
const control: Fault = { type: 'kill', part: 'projector', index: 0 };
const controlMs = 3_000;
/** From the time when every node is ready. */
const creatingWithinMs = 10_000;
/** Without one broker of several, its partitions get another leader, and writes continue. */
const failoverWithinMs = 15_000;

/** Measures the longest time without a 201. */
const watchCreations = (tally: Readonly<Tally>) => {
  let { created } = tally;
  let lastAt = performance.now();
  let longestMs = 0;
  const update = (): void => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - lastAt);
    if (tally.created === created) return;
    ({ created } = tally);
    lastAt = now;
  };
  const timer = setInterval(update, 50);
  return {
    stop(): number {
      clearInterval(timer);
      update();
      return longestMs;
    },
  };
};

const preload = (file: string): string => `--import=${new URL(file, import.meta.url).href}`;

/** A stack under load, with its promises and response times. */
class Rounds {
  /** Responses between faults, and during a failure of the broker or its link. */
  readonly normal: Timed[] = [];
  readonly brokerAway: Timed[] = [];
  tolerance = noTolerance;
  readonly #frozen: Frozen[] = [];
  #linksChecked = 0;

  constructor(
    private readonly stack: LinkedStack,
    private readonly load: Load,
    private readonly checked: Checked,
  ) {}

  /** Injects the fault, waits until the stack is healthy, and checks it. */
  async injectFault(fault: Fault, durationMs: number): Promise<FaultReport> {
    const { stack, load } = this;
    const { promises } = this.checked;
    const before = { ...load.tally };
    const startedAt = performance.now();
    const responses = [...load.takeResponses()];
    this.normal.push(...responses);
    const creations = watchCreations(load.tally);
    await this.#inject(fault, durationMs);
    const restartMs = performance.now() - startedAt;
    if (fault.type !== 'kill' && fault.part === 'kafka') {
      const meanwhile = load.takeResponses();
      responses.push(...meanwhile);
      this.brokerAway.push(...meanwhile);
      const failed = failedVisits(since(before, load.tally));
      if (failed > 0) promises.broken.push(`${failed} visits failed without the broker`);
    }
    await untilReady(stack);
    const readyMs = performance.now() - startedAt;
    const creatingMs = readyMs + (await this.#untilCreating());
    const withoutLinkMs = creations.stop();
    if (stack.pids.kafka.length > 1 && movesLeaders(fault) && withoutLinkMs > failoverWithinMs) {
      promises.broken.push(
        `no link was created for ${Math.round(withoutLinkMs)} ms without one broker of several`,
      );
    }
    await this.#check();
    responses.push(...load.takeResponses());
    return {
      fault,
      restartMs,
      readyMs,
      creatingMs,
      withoutLinkMs,
      checkMs: performance.now() - startedAt - creatingMs,
      tally: since(before, load.tally),
      deadlines: checkDeadlines(responses, {
        frozen: this.#frozen,
        tolerance: this.tolerance,
      }),
      broken: [...promises.broken],
    };
  }

  async #inject(fault: Fault, durationMs: number): Promise<void> {
    const { stack, load } = this;
    const nodes = nodesOf(stack, fault);
    const forget = (): void => {
      if (fault.type === 'kill') for (const node of nodes) load.forgetCached(node);
    };
    const from = performance.now();
    forget();
    await inject(stack, fault, durationMs);
    // Again: the killed process may have sent responses after the first call.
    forget();
    if (freezesNode(fault)) this.#frozen.push({ nodes, from, to: performance.now() });
  }

  /** Waits until a link is created. @returns milliseconds */
  async #untilCreating(): Promise<number> {
    const { tally } = this.load;
    const { created } = tally;
    const from = performance.now();
    const isCreated = (): boolean => tally.created > created;
    const overdue = (): boolean => performance.now() - from > creatingWithinMs;
    await eventually(
      'links are created again',
      () => isCreated() || overdue(),
      2 * creatingWithinMs,
    );
    if (!isCreated()) {
      this.checked.promises.broken.push(`no link was created for ${creatingWithinMs} ms`);
    }
    return performance.now() - from;
  }

  async #check(): Promise<void> {
    const { stack, checked } = this;
    const { promises, random } = checked;
    const fresh = promises.links.slice(this.#linksChecked);
    const sample = (count: number, links: readonly PromisedLink[]): readonly PromisedLink[] =>
      links.length <= count
        ? links
        : Array.from({ length: count }, () => links[random.below(links.length)]).flatMap(
            (link) => link ?? [],
          );
    const older = promises.links.slice(0, this.#linksChecked);
    this.#linksChecked += fresh.length;
    const sampledLinks = [...sample(sampled.fresh, fresh), ...sample(sampled.older, older)];
    await checkLive(stack, sampledLinks, promises);
    await withLedger(stack, (pool) => checkLog({ ...checked, pool }));
  }
}

const formatLine = ({
  fault,
  restartMs,
  readyMs,
  creatingMs,
  withoutLinkMs,
  checkMs,
  tally,
  deadlines,
  broken,
}: FaultReport) =>
  `${nameOf(fault)} ${fault.index}, over in ${Math.round(restartMs)} ms, ` +
  `all ready in ${Math.round(readyMs)} ms, links created in ${Math.round(creatingMs)} ms ` +
  `(none for ${Math.round(withoutLinkMs)} ms), checked in ${Math.round(checkMs)} ms; ` +
  `${tally.created} created, ${tally.visited} visited, ` +
  `${tally.apiRefused + tally.edgeRefused} responses 503; ` +
  `worst ${responseKinds.map((kind) => `${kind} ${Math.round(deadlines.worst[kind])}`).join(', ')} ms; ` +
  `${deadlines.late.length} late, ${broken.length} promises broken`;

/**
 * Kills (-9) and pauses every part of a stack under a steady load, and disturbs the links to its servers, one after
 * another. Checks new promises after each fault, and all promises at the end.
 */
export const stackRounds = async (options: StackRoundsOptions): Promise<Outcome> => {
  const { brokers, nodes = 2, seed, pace, longestMs, pauseMs, withinMs = Infinity } = options;
  const { faults, rolling = 0, kafkajsRetries = false } = options;
  const { only = () => true, onProgress = () => undefined } = options;
  const until = performance.now() + withinMs;
  // The load has its own random numbers: their order depends on response times, and faults must repeat.
  const random = seededRandom(seed);
  const loadRandom = seededRandom(seed + 1);
  const plansFile = path.join(tmpdir(), `linklog-chaos-${randomUUID()}.json`);
  await writePlans(plansFile);
  const promises = noPromises();
  const stack = await startLinkedStack(
    { brokers, nodes },
    {
      ...{ PLANS_FILE: plansFile, LOG_LEVEL: 'error' },
      ...(kafkajsRetries && { NODE_OPTIONS: preload('./kafkajs-retries.js') }),
    },
  );
  onProgress(`the stack is ready, with Kafka at ${stack.brokers}`);
  let load: Load | undefined;
  try {
    const checked: Checked = {
      target: stack,
      keys: await issueLoadKeys(stack),
      promises,
      random: loadRandom,
      log: new LogCopy(),
      catchUp: catchUpFromKafka(stack.brokers),
      env: { DATA_DIR: stack.dataDir, KAFKA_BROKERS: stack.brokers },
    };
    load = startLoad({ ...checked, pace });
    const rounds = new Rounds(stack, load, checked);
    await sleep(controlMs);
    const controlled = await rounds.injectFault(control, 0);
    rounds.tolerance = controlled.deadlines.worst;
    onProgress(`control: ${formatLine(controlled)}`);

    const reports: FaultReport[] = [];
    for (const fault of planFaults({ faults, rolling }, stack.pids, random, only)) {
      await sleep(random.between(pauseMs / 4, pauseMs));
      const report = await rounds.injectFault(fault, durationOf(random, longestMs));
      reports.push(report);
      onProgress(`${reports.length}: ${formatLine(report)}`);
      if (report.broken.length > 0 || performance.now() > until) break;
    }
    await load.stop();
    onProgress('the load has ended; checking all promises');
    await checkEverything(checked);
    onProgress('rebuilding every projection');
    promises.broken.push(...(await rebuildAll(checked.env)));
    return {
      reports: reports,
      tally: load.tally,
      records: checked.log.records,
      repeats: checked.log.repeats,
      counts: countLog(promises, checked.log),
      normal: cachedLatency(rounds.normal),
      brokerAway: cachedLatency(rounds.brokerAway),
      tolerance: rounds.tolerance,
      broken: promises.broken,
    };
  } finally {
    await load?.stop();
    await stack.stop();
    await rm(plansFile, { force: true });
  }
};
