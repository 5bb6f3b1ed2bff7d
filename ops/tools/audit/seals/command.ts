import { createPublicKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { PartitionVerdict } from './partition.js';
import { lastCheckpoints, publishedKeys, retireKey, sealStore } from './stored.js';
import { verifySeals } from './verify.js';
import { writeNewFile } from '../../../platform/files/new-file.js';
import type { Config } from '../../../platform/config/config.js';
import {
  checkpointFile,
  isEd25519,
  keyIdOf,
  type SignedCheckpoint,
  type TrustedKeys,
} from '../../../../projectors/seals/signed-checkpoint.js';
import type { Command, CommandContext } from '../../cli/command.js';
import { runOnDatabase, withDatabase, type Database } from '../../cli/database.js';
import { CliError, messageOf } from '../../cli/errors.js';
import { count, counted, facts, table, type Answer } from '../../cli/output.js';

const readText = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new CliError('USAGE', `${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
};

const publicKeyOf = (pem: string): KeyObject | null => {
  try {
    const key = createPublicKey(pem);
    return isEd25519(key) ? key : null;
  } catch {
    // Told as any other file that is none.
    return null;
  }
};

const readKeys = async (files: readonly string[]): Promise<TrustedKeys> => {
  const keys = new Map<string, KeyObject>();
  for (const file of files) {
    const key = publicKeyOf(await readText(file));
    if (!key) throw new CliError('USAGE', `${file} holds no Ed25519 key in PEM`);
    keys.set(keyIdOf(key), key);
  }
  return keys;
};

const readCheckpoints = async (file: string): Promise<readonly SignedCheckpoint[]> => {
  const text = await readText(file);
  try {
    return checkpointFile.parse(JSON.parse(text)).checkpoints;
  } catch (cause) {
    const message = `${file} holds no checkpoints that "linklog audit seal --export" wrote`;
    throw new CliError('USAGE', message, { cause });
  }
};

const place = ({ topic, partition }: Pick<PartitionVerdict, 'topic' | 'partition'>): string =>
  `${topic}/${partition}`;

const told = {
  differs:
    'the record there is not the one that was sealed: changed, put in, moved, or one is gone',
  missing: 'the record there is gone',
  'sealed anew': 'the log and its seals fit each other, but not the checkpoint',
};

const lineOf = (verdict: PartitionVerdict): readonly string[] => {
  const { broken, damagedSeals } = verdict;
  const lines = damagedSeals.map(
    (offset) => `${place(verdict)}: the seal that ended at offset ${offset} is gone or was altered`,
  );
  if (broken === null) return lines;
  const { first, last, what } = broken;
  const where =
    first === last ? `first bad offset ${first}` : `first bad offset from ${first} to ${last}`;
  return [`${place(verdict)}: ${where}: ${told[what]}`, ...lines];
};

const withoutCheckpoint =
  'without --checkpoint, nobody sees whether the newest events were cut off together with their ' +
  'seals, or all was sealed anew by who has the key';

/**
 * `linklog audit verify --seals`, with files: one public key, or more after the key was changed, and
 * a checkpoint. Without a checkpoint, a log that was cut at its end looks whole.
 */
export const verifySealsOf = async (
  config: Config,
  files: { readonly publicKeys: readonly string[]; readonly checkpoint: string | undefined },
): Promise<Answer> => {
  const keys = await readKeys(files.publicKeys);
  const known = files.checkpoint === undefined ? [] : await readCheckpoints(files.checkpoint);
  const words = { title: 'seals', stopped: 'the verification was stopped', ended: 'ended at once' };
  const verdict = await runOnDatabase(config, words, (database) =>
    verifySeals({ ...database, keys, known }),
  );
  const { partitions, proven, unproven, isIntact } = verdict;
  const after = `${counted(unproven, 'event')} after the last seals ${unproven === 1 ? 'is' : 'are'} unproven`;
  const found = partitions.flatMap(lineOf);
  return {
    json: verdict,
    text: isIntact
      ? `Intact: ${counted(proven, 'event')} ${proven === 1 ? 'is' : 'are'} as sealed; ${after}`
      : [
          'NOT INTACT',
          ...found,
          `${counted(proven, 'event')} before that are as sealed; ${after}`,
        ].join('\n'),
    ...(files.checkpoint === undefined && { notice: withoutCheckpoint }),
    exitCode: isIntact ? 0 : 1,
  };
};

interface SealOptions {
  readonly export?: string;
  readonly exportKey?: string;
  readonly force?: true;
}

const write = (file: string, text: string, replace: boolean): Promise<void> =>
  writeNewFile(file, { replace }, (append) => append(Buffer.from(text)));

const neverSealed = (): CliError =>
  new CliError(
    'REFUSED',
    'this log was never sealed: run its projectors with SEAL_KEY_FILE, the same one for all',
  );

const shownSeals = async ({ pool, log }: Database) => {
  const keys = await publishedKeys(pool);
  const [newest] = keys;
  if (newest === undefined) throw neverSealed();
  const trusted = new Map(keys.map(({ id, publicKey }) => [id, createPublicKey(publicKey)]));
  const store = sealStore(pool, log);
  return { key: newest, checkpoints: await lastCheckpoints(pool, store, trusted) };
};

/** `linklog audit seal`. */
const seal = async (config: Config, options: SealOptions): Promise<Answer> => {
  const { key, checkpoints } = await withDatabase(config, shownSeals);
  const replace = options.force === true;
  if (options.export !== undefined) {
    if (checkpoints.length === 0) throw neverSealed();
    const file = { linklogSeals: 1, checkpoints };
    await write(options.export, `${JSON.stringify(file, null, 2)}\n`, replace);
  }
  if (options.exportKey !== undefined) await write(options.exportKey, key.publicKey, replace);
  const rows = checkpoints.map((checkpoint) => [
    checkpoint.topic,
    String(checkpoint.partition),
    count(checkpoint.nextOffset),
    checkpoint.time,
    checkpoint.hash,
  ]);
  return {
    json: { keyId: key.id, publicKey: key.publicKey, retired: key.retiredAt !== null, checkpoints },
    text: [
      facts([
        ['Key', key.id],
        [
          key.retiredAt === null ? 'Signs since' : 'Retired',
          (key.retiredAt ?? key.since).toISOString(),
        ],
      ]),
      key.publicKey.trimEnd(),
      table(['TOPIC', 'PARTITION', 'NEXT OFFSET', 'SEALED AT', 'CHAIN'], rows),
    ].join('\n'),
  };
};

const retire = async (config: Config): Promise<Answer> => {
  const id = await withDatabase(config, ({ pool }) => retireKey(pool));
  if (id === null) throw new CliError('REFUSED', 'there is no key that signs');
  return {
    json: { retired: id },
    text: `Retired the key ${id}: start the projectors with another SEAL_KEY_FILE`,
  };
};

/** Adds `linklog audit seal`. */
export const addSealCommands = (audit: Command, { readConfig, print }: CommandContext): void => {
  const group = audit
    .command('seal')
    .description('the key that seals the log, and the last checkpoints it signed')
    .option('--export <file>', 'write the last checkpoints to a file, to be kept elsewhere')
    .option('--export-key <file>', 'write the public key to a file, to be kept elsewhere')
    .option('--force', 'replace a file if there is one')
    .notes(
      `
Keep both files where nobody who can write to the log can write: they are what a later verification
holds the log against.

Examples:
  $ linklog audit seal --export-key linklog-seal.pub.pem
  $ linklog audit seal --export seals-$(date +%F).json`,
    )
    .action(async (options: SealOptions) => {
      print(await seal(readConfig(), options));
    });

  group
    .command('retire-key')
    .description(
      'let the next projector that starts seal with another key; stop all of them before',
    )
    .action(async () => {
      print(await retire(readConfig()));
    });
};
