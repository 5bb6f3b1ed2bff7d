import { setTimeout } from 'node:timers/promises';
import { deferred, type Deferred } from '../../ops/platform/concurrency/deferred.js';
import { hashesAtOnce } from '../../ops/platform/passwords/password-hasher.js';

/** Where a try stands. */
export interface Standing {
  /** Whether its network may be part of a flood. */
  readonly network: 'unsuspected' | 'suspected';
  /** Of its network and of those around it. The first that differs decides. */
  readonly failures: readonly number[];
  /** Decides where these are equal. */
  readonly failuresOfLink: number;
}

interface Waiting {
  readonly code: string;
  /** Tries that waited at the link before it. */
  readonly before: number;
  /** It may become worse while others of the same networks fail. */
  readonly standing: () => Standing;
  /** Resolves to `null` when there is no room. */
  readonly turn: Deferred<Standing['network'] | null>;
}

/**
 * How many may wait. At 10 to 25 ms a hash, the last one of the unsuspected waits for a second or two; of
 * the suspected, for some seconds.
 */
const rooms = { unsuspected: 64, suspected: 16 } as const;

/** One more than can be hashed: no hash waits for the ledger. */
const atOnce = hashesAtOnce + 1;

const compare = (rank: readonly number[], other: readonly number[]): number => {
  const differs = rank.findIndex((value, index) => value !== other[index]);
  return differs === -1 ? 0 : (rank[differs] ?? 0) - (other[differs] ?? 0);
};

/**
 * Tries that need a hash, or that are suspected of a flood, wait here for their turn: those that failed
 * least go first, and when there is no room, those that failed most are refused. The suspected go one at a
 * time, with rests between them: so a flood costs little, and learns little. After each rest one of them
 * goes, so that a person who mistyped does not wait for all others.
 */
export class Turns {
  readonly refused = { unsuspected: 0, suspected: 0 };
  #waiting: readonly Waiting[] = [];
  #running = 0;
  /** A suspected try has its turn, or the rest after it. */
  #resting = false;

  /** @param sleep resolves after so many milliseconds */
  constructor(private readonly sleep: (ms: number) => Promise<unknown> = setTimeout) {}

  /** How many wait. */
  get waiting(): Readonly<Record<Standing['network'], number>> {
    const { unsuspected, suspected } = this.#lines();
    return { unsuspected: unsuspected.length, suspected: suspected.length };
  }

  /**
   * Runs `work` when its turn has come; `restMs` says for how long suspected ones rest after its outcome.
   *
   * @returns `null` when there is no room. @throws what `work` throws, and what `fail` is told
   */
  async run<Outcome>(
    { code, standing }: Pick<Waiting, 'code' | 'standing'>,
    work: () => Promise<Outcome>,
    restMs: (outcome: Outcome) => number,
  ): Promise<Outcome | null> {
    const turn = deferred<Standing['network'] | null>();
    // Links take turns: the second to wait at a link goes after the first at another.
    const before = this.#waiting.filter((other) => other.code === code).length;
    this.#waiting = [...this.#waiting, { code, before, standing, turn }];
    this.#startNext();
    if (this.#waiting.length > rooms.suspected) this.#refuseLast();
    const network = await turn.promise;
    if (network === null) return null;
    let rest = 0;
    try {
      const outcome = await work();
      rest = restMs(outcome);
      return outcome;
    } finally {
      this.#running -= 1;
      if (network === 'suspected') void this.#rest(rest);
      this.#startNext();
    }
  }

  /** Rejects all who wait, whose turns would fail as well, one after the other. */
  fail(error: unknown): void {
    for (const { turn } of this.#waiting) turn.reject(error);
    this.#waiting = [];
  }

  /** Those who wait, the next ones first. */
  #lines(): Readonly<Record<Standing['network'], readonly Waiting[]>> {
    const ranked = this.#waiting.map((waiting) => {
      const { network, failures, failuresOfLink } = waiting.standing();
      return { waiting, network, rank: [...failures, failuresOfLink + waiting.before] };
    });
    ranked.sort((one, other) => compare(one.rank, other.rank));
    const lineOf = (network: Standing['network']): Waiting[] =>
      ranked.filter((each) => each.network === network).map(({ waiting }) => waiting);
    return { unsuspected: lineOf('unsuspected'), suspected: lineOf('suspected') };
  }

  #startNext(): void {
    while (this.#running < atOnce && this.#waiting.length > 0) {
      const { unsuspected, suspected } = this.#lines();
      const [next = unsuspected[0]] = this.#resting ? [] : suspected;
      if (!next) return;
      const network = next === unsuspected[0] ? 'unsuspected' : 'suspected';
      if (network === 'suspected') this.#resting = true;
      this.#running += 1;
      this.#waiting = this.#waiting.filter((waiting) => waiting !== next);
      next.turn.resolve(network);
    }
  }

  #refuseLast(): void {
    const lines = this.#lines();
    for (const network of ['unsuspected', 'suspected'] as const) {
      const refused = new Set(lines[network].slice(rooms[network]));
      this.refused[network] += refused.size;
      this.#waiting = this.#waiting.filter((waiting) => !refused.has(waiting));
      for (const { turn } of refused) turn.resolve(null);
    }
  }

  async #rest(ms: number): Promise<void> {
    await this.sleep(ms);
    this.#resting = false;
    this.#startNext();
  }
}
