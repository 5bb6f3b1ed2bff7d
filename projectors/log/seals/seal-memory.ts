import { mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, nullOn } from '../../../ops/platform/errors.js';
import { writeNewFile } from '../../../ops/platform/files/new-file.js';
import type { ChainPartition } from './chain.js';
import { ChainBroken } from './recomputed-chain.js';
import {
  checkpointFile,
  checkpointText,
  isSigned,
  type SignedCheckpoint,
  type Signer,
} from './signed-checkpoint.js';

/** The directory beside a key file with the last checkpoints that the key has signed. */
export const sealMemoryOf = (keyFile: string): string => `${keyFile}.signed`;

/**
 * The last checkpoint of each partition that a key has signed, as files outside of PostgreSQL, so that a writer of the
 * database cannot change them. Projectors may share the directory: the lock on the chain's row orders their writes.
 */
export class SealMemory {
  private constructor(
    readonly folder: string,
    private readonly signer: Pick<Signer, 'keyId' | 'publicKey'>,
  ) {}

  /** @throws ConfigError if the directory cannot be created */
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
   * Returns the last checkpoint of a partition; `null` if the key has signed none.
   *
   * @throws ChainBroken if the file is of another log or was altered
   */
  async last(logId: string, topicPartition: ChainPartition): Promise<SignedCheckpoint | null> {
    const { keyId, publicKey } = this.signer;
    const file = this.#fileOf(topicPartition);
    const text = await nullOn(readFile(file, 'utf8'), 'ENOENT');
    if (text === null) return null;
    const last = checkpointFile.safeParse(text).data?.checkpoints[0];
    // The checkpoint is of a previous key in the same key file.
    if (last && last.keyId !== keyId) return null;
    if (last?.logId !== logId || !isSigned(last, new Map([[keyId, publicKey]]))) {
      throw new ChainBroken(
        `${file} is not what the key has signed of this log; in another installation, remove its folder`,
      );
    }
    return last;
  }

  /** Resolves when the checkpoint is on disk. @throws CannotWrite */
  remember(checkpoint: SignedCheckpoint): Promise<void> {
    return writeNewFile(this.#fileOf(checkpoint), { replace: true }, (append) =>
      append(Buffer.from(checkpointText([checkpoint]))),
    );
  }

  #fileOf({ topic, partition }: ChainPartition): string {
    return path.join(this.folder, `${topic}-${partition}.json`);
  }
}

/**
 * Returns all checkpoints of a directory, whose signatures the caller must verify. Empty if the directory does not exist
 * or belongs to another user. @throws ZodError if a file was altered
 */
export const rememberedIn = async (folder: string): Promise<readonly SignedCheckpoint[]> => {
  const names = (await nullOn(readdir(folder), 'ENOENT', 'EACCES')) ?? [];
  const texts = names
    .filter((name) => name.endsWith('.json'))
    .map((name) => readFile(path.join(folder, name), 'utf8'));
  return (await Promise.all(texts)).flatMap((text) => checkpointFile.parse(text).checkpoints);
};
