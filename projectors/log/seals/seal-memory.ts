import { mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '../../../ops/platform/process/config-error.js';
import { nullOn } from '../../../ops/platform/errors.js';
import { writeNewFile } from '../../../ops/platform/files/new-file.js';
import type { ChainPlace } from './chain.js';
import { ChainBroken } from './recomputed-chain.js';
import {
  checkpointFile,
  checkpointText,
  isSigned,
  type SignedCheckpoint,
  type Signer,
} from './signed-checkpoint.js';

/** The folder beside a key that has what the key signed last. */
export const sealMemoryOf = (keyFile: string): string => `${keyFile}.signed`;

/**
 * The checkpoint that a key has signed last, of each partition: a file each, in a folder that whoever can
 * write to PostgreSQL cannot write to. Projectors may share the folder: the lock on the chain's row orders
 * their writes.
 */
export class SealMemory {
  private constructor(
    readonly folder: string,
    private readonly signer: Pick<Signer, 'keyId' | 'publicKey'>,
  ) {}

  /** @throws ConfigError when the folder cannot be made */
  static async open(keyFile: string, signer: SealMemory['signer']): Promise<SealMemory> {
    const folder = sealMemoryOf(keyFile);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
    } catch (cause) {
      const message = `SEAL_KEY_FILE: ${folder} cannot be made: ${(cause as Error).message}`;
      throw new ConfigError(message, { cause });
    }
    return new SealMemory(folder, signer);
  }

  /**
   * The last checkpoint of a partition of this log; `null` where the key has signed none.
   *
   * @throws ChainBroken where the file is of another log, or not as it was written
   */
  async last(logId: string, place: ChainPlace): Promise<SignedCheckpoint | null> {
    const { keyId, publicKey } = this.signer;
    const file = this.#fileOf(place);
    const text = await nullOn(readFile(file, 'utf8'), 'ENOENT');
    if (text === null) return null;
    const last = checkpointFile.safeParse(text).data?.checkpoints[0];
    // Of the key that was in the key's file before.
    if (last && last.keyId !== keyId) return null;
    if (last?.logId !== logId || !isSigned(last, new Map([[keyId, publicKey]]))) {
      throw new ChainBroken(
        `${file} is not what the key has signed of this log; in another installation, remove its folder`,
      );
    }
    return last;
  }

  /** Resolves when it is on the disk. @throws CannotWrite */
  remember(checkpoint: SignedCheckpoint): Promise<void> {
    return writeNewFile(this.#fileOf(checkpoint), { replace: true }, (append) =>
      append(Buffer.from(checkpointText([checkpoint]))),
    );
  }

  #fileOf({ topic, partition }: ChainPlace): string {
    return path.join(this.folder, `${topic}-${partition}.json`);
  }
}

/**
 * All that is remembered in a folder; empty where there is no such folder, or where it is another user's.
 * Whether it is genuine is the caller's to see. @throws ZodError where a file is not as it was written
 */
export const rememberedIn = async (folder: string): Promise<readonly SignedCheckpoint[]> => {
  const names = (await nullOn(readdir(folder), 'ENOENT', 'EACCES')) ?? [];
  const texts = names
    .filter((name) => name.endsWith('.json'))
    .map((name) => readFile(path.join(folder, name), 'utf8'));
  return (await Promise.all(texts)).flatMap((text) => checkpointFile.parse(text).checkpoints);
};
