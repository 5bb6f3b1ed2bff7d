import { countShortCodes } from '../../../ops/ledger/links.js';
import { BoundedMap } from '../../../ops/platform/collections.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import type { PlanName, PlanTable } from '../../../schemas/plans.js';
import type { IgnoresCase } from '../../../schemas/link-subject.js';
import { keyAlphabet } from '../../keys/key-token.js';

/** The characters of generated codes. If case is ignored, without digits and letters that look alike. */
export const alphabetOf = (ignoresCase: boolean): string =>
  ignoresCase ? '23456789abcdefghijkmnpqrstuvwxyz' : keyAlphabet;

/** Shorter codes can be guessed if many of them are taken. */
const safeLength = 6;
/** The share of the codes of a length that may be taken before longer codes are generated. */
const maxShare = 1 / 1_000;
/** Each process generates this share of the codes that are left before it counts again, so that several stay within. */
const shareOfLeft = 1 / 4;

/** Domains and lengths whose counts a process remembers. */
const maxKnown = 10_000;

/** How many codes this process may generate before it counts again; `null`: no more of this length. */
type Left = number | null;

/** The lengths of generated codes by plan: `codeLength` of the plan, otherwise CODE_LENGTH. */
export const createCodeLengths = (
  pool: Pool,
  { plans }: PlanTable,
  codeLength: number,
  ignoresCase: IgnoresCase,
) => {
  const lengthOf = (plan: PlanName | null): number =>
    (plan === null ? undefined : plans[plan].codeLength) ?? codeLength;
  const shortest = Math.min(
    codeLength,
    ...Object.values(plans).map((plan) => plan.codeLength ?? codeLength),
  );
  const left = new BoundedMap<string, Left>(maxKnown);
  const nameOf = (domain: string | null, length: number): string => `${length} ${domain ?? ''}`;

  return {
    /** Counts the taken codes of the domain, unless that is not due. Call it before `next`. */
    async load(domain: string | null): Promise<void> {
      for (let length = shortest; length < safeLength; length += 1) {
        const name = nameOf(domain, length);
        const known = left.get(name);
        if (known === null || (known !== undefined && known > 0)) continue;
        const limit = Math.floor(alphabetOf(ignoresCase(domain)).length ** length * maxShare);
        const taken = await countShortCodes(pool, domain, length, limit);
        left.set(name, taken >= limit ? null : Math.ceil((limit - taken) * shareOfLeft));
      }
    },
    /** The length of the next code on a domain. @param plan `null`: an operator's */
    next(domain: string | null, plan: PlanName | null): number {
      let length = lengthOf(plan);
      while (length < safeLength && left.get(nameOf(domain, length)) === null) length += 1;
      const name = nameOf(domain, length);
      const count = left.get(name);
      if (typeof count === 'number') left.set(name, count - 1);
      return length;
    },
  };
};

export type CodeLengths = ReturnType<typeof createCodeLengths>;
