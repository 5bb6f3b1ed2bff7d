import type { Redis } from 'ioredis';

/** Where edges lay down texts for each other, by code. */
export interface CopyStore {
  /** `null` where there is none, or something that is no text. */
  read(codes: readonly string[]): Promise<readonly (string | null)[]>;
  write(texts: ReadonlyMap<string, string>, lifeMs: number): Promise<void>;
}

/** Of the texts. One of another version is not found, rather than misread. */
const version = 1;

/**
 * Texts in Redis, those of a batch with one write to the socket.
 *
 * `installation` keeps those apart that share a Redis: the same code is another link there.
 */
export const createCopyStore = (redis: Redis, installation: string): CopyStore => {
  const keyOf = (code: string): string => `linklog:${installation}:link-v${version}:${code}`;
  return {
    read: (codes) => redis.mget(codes.map(keyOf)),
    async write(texts, lifeMs) {
      const pipeline = redis.pipeline();
      for (const [code, text] of texts) pipeline.set(keyOf(code), text, 'PX', lifeMs);
      for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
    },
  };
};
