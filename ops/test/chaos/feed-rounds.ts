/** Writers, clients that reconnect, and kills: every client must have every event of its account. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { EventStreamParser } from '../../../schemas/event-stream.js';
import { feedEventNames } from '../../../schemas/feed.js';
import { ledgerSource } from '../../../schemas/events/envelope.js';
import { sendRequest } from '../support/http.js';
import { seededRandom, type Random } from '../support/random.js';
import { eventually } from '../support/waiting.js';
import type { FeedTarget } from './feed-target.js';

export interface FeedPlan {
  /** Events that are written at least. */
  readonly events: number;
  readonly links: number;
  readonly writers: number;
  /** Clients of each of the two accounts. */
  readonly clients: number;
  readonly reconnects: number;
  readonly kills: number;
  readonly seed: number;
}

export interface FeedResult {
  readonly broken: readonly string[];
  readonly events: number;
  readonly received: number;
  readonly repeats: number;
  readonly reconnects: number;
  readonly kills: number;
}

const accounts = ['left', 'right'] as const;
type Account = (typeof accounts)[number];

const editsOfCall = 20;
const finalMs = 120_000;

const receivedEvent = z.looseObject({
  id: z.string(),
  source: z.string(),
  subject: z.string(),
  type: z.string(),
  sequence: z.string(),
  account: z.string(),
});

/** What a client has received, stored together with its cursor. */
class Received {
  readonly identities = new Set<string>();
  readonly broken: string[] = [];
  repeats = 0;
  cursor = 'start';
  readonly #sequences = new Map<string, number>();

  constructor(private readonly account: Account) {}

  add(id: string, data: string): void {
    const event = receivedEvent.parse(JSON.parse(data));
    const identity = `${event.source} ${event.id}`;
    this.cursor = id;
    if (event.account !== this.account) {
      this.broken.push(`${this.account} got ${identity} of ${event.account}`);
    }
    if (this.identities.has(identity)) {
      this.repeats += 1;
      return;
    }
    this.identities.add(identity);
    const isVisit = event.type.startsWith('linklog.LinkVisited.');
    const order = `${event.source} ${event.subject} ${isVisit ? 'visits' : ''}`;
    const [last, sequence] = [this.#sequences.get(order) ?? 0, Number(event.sequence)];
    this.#sequences.set(order, sequence);
    const isNext = event.source === ledgerSource ? sequence === last + 1 : sequence > last;
    if (!isNext) this.broken.push(`${this.account} got ${order} ${sequence} after ${last}`);
  }
}

/** Follows a stream until the signal; resolves at its end. */
const followStream = async (
  api: string,
  key: string,
  received: Received,
  signal: AbortSignal,
): Promise<void> => {
  const query = new URLSearchParams({ types: feedEventNames.join(), after: received.cursor });
  const response = await fetch(`${api}/v2/events?${query.toString()}`, {
    headers: { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' },
    signal,
  });
  if (!response.ok || !response.body) throw new Error(`${response.status}`);
  const parser = new EventStreamParser();
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    for (const { id, event, data } of parser.push(chunk)) {
      if (event === 'message') received.add(id, data);
    }
  }
};

export const runFeedRounds = async (target: FeedTarget, plan: FeedPlan): Promise<FeedResult> => {
  const random = seededRandom(plan.seed);
  const keys = new Map<Account, string>();
  const codes = new Map<Account, string[]>();
  for (const account of accounts) {
    const key = await target.createKey(account);
    keys.set(account, key);
    const createdCodes: string[] = [];
    for (let index = 0; index < plan.links / accounts.length; index += 1) {
      const response = await sendRequest(`${target.apis()[0]}/v2/shorten`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}` },
        body: { url: `https://example.com/${account}/${index}` },
      });
      createdCodes.push((response.json() as { shortCode: string }).shortCode);
    }
    codes.set(account, createdCodes);
  }

  let written = 0;
  let kills = 0;
  let reconnects = 0;
  const isWritten = (): boolean => written >= plan.events;
  const pick = <Item>(items: readonly Item[], from: Random): Item => {
    const item = items[from.below(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  };

  /** Half of the events are edits, half are visits. */
  const write = async (writer: number): Promise<void> => {
    const own = seededRandom(plan.seed + writer);
    for (let call = 0; !isWritten(); call += 1) {
      const account = pick(accounts, own);
      const known = codes.get(account) ?? [];
      const first = own.below(known.length - editsOfCall);
      const shortCodes = known.slice(first, first + editsOfCall);
      try {
        if (call % 2 === 0) {
          const response = await sendRequest(`${pick(target.apis(), own)}/v2/links/bulk`, {
            method: 'POST',
            headers: { Authorization: `Bearer ${keys.get(account) ?? ''}` },
            body: { shortCodes, change: { tags: [`t${writer}-${call}`] } },
            timeoutMs: 5_000,
          });
          if (response.status === 200) written += shortCodes.length;
        } else {
          const visits = shortCodes.map((code) =>
            sendRequest(`${target.edge()}/${code}`, { timeoutMs: 5_000 }),
          );
          const responses = await Promise.all(visits);
          written += responses.filter(({ status }) => status === 302).length;
        }
      } catch {
        // The process was killed: what it had committed is in the log.
        await sleep(50);
      }
    }
  };

  const ended = new AbortController();
  const follow = async (received: Received, key: string, own: Random): Promise<void> => {
    while (!ended.signal.aborted) {
      // The rest of the reconnects happen after the last write.
      const isLast = reconnects >= plan.reconnects;
      const timer = isLast ? ended.signal : AbortSignal.timeout(Math.ceil(own.between(1, 1_500)));
      try {
        const signal = AbortSignal.any([timer, ended.signal]);
        await followStream(pick(target.apis(), own), key, received, signal);
      } catch {
        // The client aborted, or the process was killed.
        await sleep(20);
      }
      reconnects += 1;
    }
  };

  const killAll = async (): Promise<void> => {
    while (kills < plan.kills) {
      const due = ((kills + 0.5) / plan.kills) * plan.events;
      if (written < due && !isWritten()) {
        await sleep(20);
        continue;
      }
      await target.kill(random);
      kills += 1;
    }
  };

  const clients = accounts.flatMap((account) =>
    Array.from({ length: plan.clients }, () => ({ account, received: new Received(account) })),
  );
  const following = clients.map(({ account, received }, index) =>
    follow(received, keys.get(account) ?? '', seededRandom(plan.seed + 1_000 + index)),
  );
  const writing = Array.from({ length: plan.writers }, (_, index) => write(index));
  await Promise.all([...writing, killAll()]);

  const names = new Set<string>(feedEventNames);
  const expectedOf = (events: Awaited<ReturnType<FeedTarget['readLog']>>, account: Account) =>
    new Set(
      events
        .filter((event) => event.account === account && names.has(event.name))
        .map(({ identity }) => identity),
    );
  // Spools of killed edges reach the log after a while.
  let logEvents = await target.readLog();
  await eventually(
    'the log is complete',
    async () => {
      await sleep(3_000);
      const before = logEvents.length;
      logEvents = await target.readLog();
      return logEvents.length === before;
    },
    finalMs,
  );
  const expected = new Map(accounts.map((account) => [account, expectedOf(logEvents, account)]));
  const isComplete = (): boolean =>
    clients.every(
      ({ account, received }) => received.identities.size >= (expected.get(account)?.size ?? 0),
    );
  // The comparison below names what is missing at the deadline.
  const deadline = performance.now() + finalMs;
  while (!isComplete() && performance.now() < deadline) await sleep(50);
  ended.abort();
  await Promise.all(following);

  const broken = clients.flatMap(({ account, received }, index) => {
    const identities = expected.get(account) ?? new Set<string>();
    const missing = [...identities].filter((identity) => !received.identities.has(identity));
    const unknown = [...received.identities].filter((identity) => !identities.has(identity));
    return [
      ...received.broken,
      ...missing.slice(0, 5).map((identity) => `client ${index} of ${account} lacks ${identity}`),
      ...unknown.slice(0, 5).map((identity) => `client ${index} got ${identity}, not in the log`),
    ];
  });
  const sum = (count: (received: Received) => number): number =>
    clients.reduce((total, { received }) => total + count(received), 0);
  return {
    broken,
    events: [...expected.values()].reduce((total, { size }) => total + size, 0),
    received: sum(({ identities }) => identities.size),
    repeats: sum(({ repeats }) => repeats),
    ...{ reconnects, kills },
  };
};
