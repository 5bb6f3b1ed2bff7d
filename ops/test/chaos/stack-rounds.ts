import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Checked, checkEverything, checkLive, untilReady, withPool } from './check.js';
import {
  responseKinds,
  checkDeadlines,
  noTolerance,
  type Frozen,
  type Judgement,
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

/** One fault, and what was seen of it. */
export interface FaultReport {
  readonly fault: Fault;
  /** Milliseconds from the fault until the part ran again. */
  readonly restartMs: number;
  /** Milliseconds from the fault until every node was ready again. */
  readonly readyMs: number;
  /** Milliseconds from the fault until a link was made after that. */
  readonly wellMs: number;
  /** Milliseconds that the checks after it took. */
  readonly checkMs: number;
  /** What the load counted from the fault until the checks were through. */
  readonly tally: Tally;
  /** The longest time without a 201 from the fault until a link was made after it, in milliseconds. */
  readonly withoutLinkMs: number;
  /** The answers since the fault before, against their deadlines. */
  readonly judgement: Judgement;
  readonly broken: readonly string[];
}

/** The 99th percentile and how many there were, of visits of links in memory. */
export interface Latency {
  readonly p99Ms: number;
  readonly count: number;
}

export interface Outcome {
  readonly suffered: readonly FaultReport[];
  readonly tally: Tally;
  readonly records: number;
  readonly repeats: number;
  /** What was acknowledged, and what Kafka has of it. */
  readonly counts: LogCounts;
  readonly normal: Latency;
  readonly brokerAway: Latency;
  /** What was added to each deadline: as long as the worst answer took while nothing failed. */
  readonly tolerance: Milliseconds;
  readonly broken: readonly string[];
}

export interface StackRoundsOptions {
  /** Kafka brokers. */
  readonly brokers: number;
  /** Processes of each service; 2 by default. */
  readonly nodes?: number;
  readonly faults: number;
  /** Rolling restarts of the brokers besides. */
  readonly rolling?: number;
  /** Whether producers use the retries of kafkajs, which lose records: the checks must find that. */
  readonly kafkajsRetries?: boolean;
  /** No further fault after as long, however many there were to be. */
  readonly withinMs?: number;
  readonly seed: number;
  readonly pace: Pace;
  /** How long a pause lasts, or a link fails, at most; 1 s at least. */
  readonly longestMs: number;
  /** Between one fault's checks and the next fault: at most. */
  readonly pauseMs: number;
  /** Which faults; all of them unless told. */
  readonly only?: (fault: Fault) => boolean;
  readonly onProgress?: (line: string) => void;
}

/** Of redirects of links in memory. */
const latencyOf = (answers: readonly Timed[]): Latency => {
  const sorted = answers
    .filter(({ kind }) => kind === 'cached link')
    .map(({ ms }) => ms)
    .sort((a, b) => a - b);
  return { p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0, count: sorted.length };
};

const failedVisits = ({ edgeRefused, lostVisits }: Tally): number => edgeRefused + lostVisits;

/** The addresses of the node that a fault is of. */
const nodesOf = (stack: LinkedStack, { part, index }: Fault): readonly string[] => {
  if (part === 'edge') return stack.edges.slice(index, index + 1);
  if (part !== 'api') return [];
  return [...stack.apis.slice(index, index + 1), ...(index === 0 ? [stack.admin] : [])];
};

/** New links, and older ones, that are looked at on each edge after each fault; at the end, all of them are. */
const sampled = { fresh: 200, older: 30 };
/**
 * Before the faults that count: nobody's request needs that process, so what answers take while it starts,
 * and while we check, is what this machine adds to them.
 */
const control: Fault = { type: 'kill', part: 'projector', index: 0 };
const controlMs = 3_000;
/** After a fault, when every node is ready. */
const creatingWithinMs = 10_000;
/** While one broker of several is away, its partitions get another leader, and writes go on. */
const failoverWithinMs = 15_000;

/** The longest time without a 201 since its creation. */
const watchCreations = (tally: Readonly<Tally>) => {
  let { created } = tally;
  let lastAt = performance.now();
  let longestMs = 0;
  const look = (): void => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - lastAt);
    if (tally.created === created) return;
    ({ created } = tally);
    lastAt = now;
  };
  const timer = setInterval(look, 50);
  return {
    stop(): number {
      clearInterval(timer);
      look();
      return longestMs;
    },
  };
};

const preload = (file: string): string => `--import=${new URL(file, import.meta.url).href}`;

/** A stack under load, and what was promised and seen so far. */
class Rounds {
  /** Of links in memory: between faults, and with the broker paused or its link failing. */
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

  /** Inflicts it, waits until all is well, and checks. */
  async injectFault(fault: Fault, durationMs: number): Promise<FaultReport> {
    const { stack, load } = this;
    const { promises } = this.checked;
    const before = { ...load.tally };
    const startedAt = performance.now();
    const answers = [...load.takeResponses()];
    this.normal.push(...answers);
    const creations = watchCreations(load.tally);
    await this.#inflict(fault, durationMs);
    const restartMs = performance.now() - startedAt;
    if (fault.type !== 'kill' && fault.part === 'kafka') {
      const meanwhile = load.takeResponses();
      answers.push(...meanwhile);
      this.brokerAway.push(...meanwhile);
      const failed = failedVisits(since(before, load.tally));
      if (failed > 0) promises.broken.push(`${failed} visits failed while the broker was away`);
    }
    await untilReady(stack);
    const readyMs = performance.now() - startedAt;
    const wellMs = readyMs + (await this.#untilCreating());
    const withoutLinkMs = creations.stop();
    if (stack.pids.kafka.length > 1 && movesLeaders(fault) && withoutLinkMs > failoverWithinMs) {
      promises.broken.push(
        `no link was made for ${Math.round(withoutLinkMs)} ms with one broker of several away`,
      );
    }
    await this.#checkSofar();
    answers.push(...load.takeResponses());
    return {
      fault,
      restartMs,
      readyMs,
      wellMs,
      withoutLinkMs,
      checkMs: performance.now() - startedAt - wellMs,
      tally: since(before, load.tally),
      judgement: checkDeadlines(answers, {
        frozen: this.#frozen,
        tolerance: this.tolerance,
      }),
      broken: [...promises.broken],
    };
  }

  async #inflict(fault: Fault, durationMs: number): Promise<void> {
    const { stack, load } = this;
    const nodes = nodesOf(stack, fault);
    const forget = (): void => {
      if (fault.type === 'kill') for (const node of nodes) load.forgetCached(node);
    };
    const from = performance.now();
    forget();
    await inject(stack, fault, durationMs);
    // Again, for the last answers of the process that was killed.
    forget();
    if (freezesNode(fault)) this.#frozen.push({ nodes, from, to: performance.now() });
  }

  /** Waits for the next link that is made. Milliseconds. */
  async #untilCreating(): Promise<number> {
    const { tally } = this.load;
    const { created } = tally;
    const from = performance.now();
    const isMade = (): boolean => tally.created > created;
    const overdue = (): boolean => performance.now() - from > creatingWithinMs;
    await eventually('links are made again', () => isMade() || overdue(), 2 * creatingWithinMs);
    if (!isMade()) {
      this.checked.promises.broken.push(`no link was made for ${creatingWithinMs} ms`);
    }
    return performance.now() - from;
  }

  async #checkSofar(): Promise<void> {
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
    const looked = [...sample(sampled.fresh, fresh), ...sample(sampled.older, older)];
    await checkLive(stack, looked, promises);
    await withPool(stack.dataDir, (pool) => checkLog({ ...checked, pool }));
  }
}

const lineOf = ({
  fault,
  restartMs,
  readyMs,
  wellMs,
  withoutLinkMs,
  checkMs,
  tally,
  judgement,
  broken,
}: FaultReport) =>
  `${nameOf(fault)} ${fault.index}, over in ${Math.round(restartMs)} ms, ` +
  `all ready in ${Math.round(readyMs)} ms, links made in ${Math.round(wellMs)} ms ` +
  `(none for ${Math.round(withoutLinkMs)} ms), checked in ${Math.round(checkMs)} ms; ` +
  `${tally.created} created, ${tally.visited} visited, ` +
  `${tally.apiRefused + tally.edgeRefused} answered 503; ` +
  `worst ${responseKinds.map((kind) => `${kind} ${Math.round(judgement.worst[kind])}`).join(', ')} ms; ` +
  `${judgement.late.length} late, ${broken.length} promises broken`;

/**
 * Kills every part of a running stack with -9 under a steady load, pauses each, and disturbs the links to
 * its servers, one after another; after each looks at what was promised, and at the end at everything.
 */
export const stackRounds = async (options: StackRoundsOptions): Promise<Outcome> => {
  const { brokers, nodes = 2, seed, pace, longestMs, pauseMs, withinMs = Infinity } = options;
  const { faults, rolling = 0, kafkajsRetries = false } = options;
  const { only = () => true, onProgress = () => undefined } = options;
  const until = performance.now() + withinMs;
  // The faults are the seed's alone: what the load draws depends on how fast it is answered.
  const random = seededRandom(seed);
  const ofLoad = seededRandom(seed + 1);
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
      random: ofLoad,
      log: new LogCopy(),
      catchUp: catchUpFromKafka(stack.brokers),
      env: { DATA_DIR: stack.dataDir, KAFKA_BROKERS: stack.brokers },
    };
    load = startLoad({ ...checked, pace });
    const rounds = new Rounds(stack, load, checked);
    await sleep(controlMs);
    const controlled = await rounds.injectFault(control, 0);
    rounds.tolerance = controlled.judgement.worst;
    onProgress(`control: ${lineOf(controlled)}`);

    const reports: FaultReport[] = [];
    for (const fault of planFaults({ faults, rolling }, stack.pids, random, only)) {
      await sleep(random.between(pauseMs / 4, pauseMs));
      const one = await rounds.injectFault(fault, durationOf(random, longestMs));
      reports.push(one);
      onProgress(`${reports.length}: ${lineOf(one)}`);
      if (one.broken.length > 0 || performance.now() > until) break;
    }
    await load.stop();
    onProgress('the load has ended; checking everything');
    await checkEverything(checked);
    onProgress('rebuilding every projection');
    promises.broken.push(...(await rebuildAll(checked.env)));
    return {
      suffered: reports,
      tally: load.tally,
      records: checked.log.records,
      repeats: checked.log.repeats,
      counts: countLog(promises, checked.log),
      normal: latencyOf(rounds.normal),
      brokerAway: latencyOf(rounds.brokerAway),
      tolerance: rounds.tolerance,
      broken: promises.broken,
    };
  } finally {
    await load?.stop();
    await stack.stop();
    await rm(plansFile, { force: true });
  }
};
