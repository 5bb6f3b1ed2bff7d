import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { hasCode } from '../../platform/errors.js';
import { sendRequest, type HttpResponse } from '../support/http.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { issueKey } from '../support/product.js';
import { seededRandom, type Random } from '../support/random.js';
import { buildChecker, startChecker, type Verdict } from './checker.js';
import {
  kinds,
  monthlyLinks,
  type Choice,
  type Kind,
  type Request,
  type Subject,
} from './objects.js';
import { startSystem, type System } from './system.js';

/** At a time, of all kinds. */
const objects = 12;
/** Processes of each object. */
const processes = 5;
/** A search for a linear order takes longer for more operations. */
const operationsOfKey = 60;
/** The processes of all objects send at the same moments, so that operations collide (ms). */
const tickMs = 200;
/** A process skips some of the ticks. */
const share = 0.7;
const timeoutMs = 10_000;
/** Between the last change of an object and its last reads, which notice what later faults have lost (ms). */
const restMs = 20_000;

/** The parts of a response that models check. */
const answer = z.object({
  message: z.string().optional(),
  url: z.string().optional(),
  status: z.string().optional(),
  version: z.int().optional(),
  maxClicks: z.int().nullish(),
  clicksLeft: z.int().nullish(),
  links: z.object({ used: z.int() }).optional(),
});

interface Output {
  readonly status: number;
  readonly version?: number | undefined;
  readonly [field: string]: unknown;
}

const outputOf = ({ status, headers, text }: HttpResponse): Output => {
  if (status === 302) return { status, url: headers.location };
  if (!headers['content-type']?.startsWith('application/json')) return { status };
  const { links, status: state, ...fields } = answer.parse(JSON.parse(text));
  return { ...fields, status, state, used: links?.used };
};

const now = (): number => Math.round(performance.now() * 1e6);

/** An operation with its times, which are ns of one monotonic clock. */
interface Performed {
  readonly input: Request['input'];
  /** `null`: unanswered, so possibly effective. */
  readonly output: Output | null;
  readonly call: number;
  readonly return: number | null;
}

/** Sends a request to a random node. Returns `null` if the node has refused the connection. */
const perform = async (
  { target: { apis, edges } }: System,
  random: Random,
  { input, path: target, options }: Request,
): Promise<Performed | null> => {
  const nodes = input.op === 'visit' ? edges : apis;
  const node = nodes[random.below(nodes.length)] ?? '';
  const call = now();
  try {
    const response = await sendRequest(`${node}${target}`, { timeoutMs, ...options });
    const answered = now();
    if (response.status === 503) return { input, output: null, call, return: null };
    return { input, output: outputOf(response), call, return: answered };
  } catch (error) {
    if (hasCode(error, 'ECONNREFUSED')) return null;
    if (!(error instanceof Error) || !('code' in error)) throw error;
    return { input, output: null, call, return: null };
  }
};

export interface RunOptions {
  /** Kafka brokers; 0: the embedded product. */
  readonly brokers: number;
  readonly faults: number;
  readonly hasStandby: boolean;
  /** The run ends after this time, even if faults remain. */
  readonly seconds: number;
  readonly seed: number;
  readonly kinds: readonly Kind[];
  /** For the history (`history.jsonl`), the checker and its picture. */
  readonly folder: string;
  readonly onProgress?: (line: string) => void;
}

/** Uses objects of all kinds concurrently while faults are injected, and checks the history as it grows. */
export const runAndCheck = async (options: RunOptions): Promise<Verdict> => {
  const { faults, seconds, seed, folder, onProgress = () => undefined } = options;
  await mkdir(folder, { recursive: true });
  const history = createWriteStream(path.join(folder, 'history.jsonl'));
  const checker = startChecker(await buildChecker(folder), folder);
  const plans = await temporaryDir();
  const env = { PLANS_FILE: await generousPlansFile(plans, { monthlyLinks }), LOG_LEVEL: 'error' };
  const system = await startSystem({ ...options, random: seededRandom(seed), env });
  // Its order depends on response times, while faults repeat.
  const random = seededRandom(seed + 1);
  const stopping = new AbortController();
  const { signal } = stopping;
  const stop = (): void => {
    stopping.abort();
  };
  const stopped = once(signal, 'abort');
  void checker.verdict.finally(stop);
  const write = (...lines: readonly object[]): void => {
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    history.write(text);
    checker.write(text);
  };

  /** Resolves with the last step, which follows later; `null`: the object cannot be created now. */
  const use = async (kind: Kind, subject: Subject): Promise<(() => Promise<void>) | null> => {
    const { key, first, reads, requests } = subject;
    const created = first && (await perform(system, random, first));
    if (first && !created?.output) return null;
    const lines: object[] = [];
    const add = (process: number, performed: Performed): void => {
      lines.push({ process, kind, key, ...performed });
    };
    if (created) add(0, created);
    let version = 1;
    let remaining = operationsOfKey;
    const act = async (process: number): Promise<void> => {
      // A process whose change has no answer only reads: each such change doubles the possible orders.
      let choices: readonly Choice[] = requests;
      while (remaining > 0 && !signal.aborted) {
        await sleep(tickMs - (performance.now() % tickMs) + random.between(0, 3));
        if (random.between(0, 1) > share) continue;
        remaining -= 1;
        const choice = choices[random.below(choices.length)];
        if (!choice) continue;
        const performed = await perform(system, random, choice(version));
        if (!performed) continue;
        add(process, performed);
        if (performed.output === null && !reads.includes(choice)) choices = reads;
        version = performed.output?.version ?? version;
      }
    };
    await Promise.all(Array.from({ length: processes }, (_, process) => act(process)));
    return async () => {
      for (const read of reads) {
        const performed = await perform(system, random, read(version));
        if (performed) add(processes, performed);
      }
      write(...lines);
    };
  };

  try {
    const pro = await issueKey(system.target, { plan: 'PRO' });
    const endings: Promise<void>[] = [];
    const slot = async (kind: Kind): Promise<void> => {
      while (!signal.aborted) {
        const subject = await kinds[kind]({ target: system.target, pro, random });
        const end = subject && (await use(kind, subject));
        if (!end) {
          await sleep(tickMs);
          continue;
        }
        const ending = Promise.race([sleep(restMs, null, { ref: false }), stopped]).then(end);
        ending.catch(stop);
        endings.push(ending);
      }
    };
    const slots = Array.from({ length: Math.ceil(objects / options.kinds.length) }, () =>
      options.kinds.map(slot),
    );
    const using = Promise.all(slots.flat());
    // It is awaited after the last fault.
    using.catch(stop);
    const timer = setTimeout(stop, seconds * 1_000);
    let injected = 0;
    for (const round of system.rounds) {
      await sleep(random.between(system.pauseMs / 4, system.pauseMs));
      if (signal.aborted) break;
      const call = now();
      if (round.cuts) write({ kind: 'cut', call });
      await round.inject();
      if (round.cuts) write({ kind: 'cut', call, return: now() });
      injected += round.names.length;
      onProgress(`${injected}: ${round.names.join(', ')}`);
    }
    if (faults > 0) stop();
    await using;
    await Promise.all(endings);
    clearTimeout(timer);
  } finally {
    stop();
    checker.end();
    await system.stop();
    await rm(plans, { recursive: true, force: true });
  }
  history.end();
  await finished(history);
  return checker.verdict;
};
