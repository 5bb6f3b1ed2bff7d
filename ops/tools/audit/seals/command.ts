import { createPublicKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { PartitionVerdict } from './partition.js';
import {
  publishedKeys,
  retireKey,
  sealStore,
} from '../../../../projectors/log/seals/seal-store.js';
import { verifySeals } from './verify.js';
import { writeNewFile } from '../../../platform/files/new-file.js';
import { linklogCommand } from '../../../platform/process/own-command.js';
import { sealKeyFileIn } from '../../../app/data-dir.js';
import type { Config } from '../../../config/config.js';
import { rememberedIn, sealMemoryOf } from '../../../../projectors/log/seals/seal-memory.js';
import {
  checkpointFile,
  checkpointText,
  isEd25519,
  keyIdOf,
  type SignedCheckpoint,
} from '../../../../projectors/log/seals/signed-checkpoint.js';
import type { AddCommands } from '../../cli/command.js';
import { runOnDatabase, withDatabase, type CommandDatabase } from '../../cli/database.js';
import { CliError, messageOf } from '../../cli/errors.js';
import { count, counted, formatFields, table, type Output } from '../../cli/output.js';

const readText = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new CliError('USAGE', `${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
};

const readKey = async (file: string): Promise<KeyObject> => {
  const pem = await readText(file);
  try {
    const key = createPublicKey(pem);
    if (isEd25519(key)) return key;
  } catch {
    // Reported below, like a key of another type.
  }
  throw new CliError('USAGE', `${file} contains no Ed25519 key in PEM format`);
};

const readCheckpoints = async (file: string): Promise<readonly SignedCheckpoint[]> => {
  const { data, error } = checkpointFile.safeParse(await readText(file));
  if (data) return data.checkpoints;
  const message = `${file} contains no checkpoints of "${linklogCommand()} audit seal --export"`;
  throw new CliError('USAGE', message, { cause: error });
};

const descriptions = {
  differs: 'the record differs from its seal: a record was changed, inserted, moved or deleted',
  missing: 'the record is missing',
  'sealed anew': 'the log matches its seals, but not the checkpoint',
};

const linesOf = (verdict: PartitionVerdict): readonly string[] => {
  const { topic, partition, broken, damagedSeals } = verdict;
  const name = `${topic}/${partition}`;
  const lines = damagedSeals.map(
    (offset) => `${name}: the seal up to offset ${offset} is missing or was altered`,
  );
  if (broken === null) return lines;
  const { first, last, what } = broken;
  const where =
    first === last ? `first bad offset ${first}` : `first bad offset from ${first} to ${last}`;
  return [`${name}: ${where}: ${descriptions[what]}`, ...lines];
};

const withoutCheckpoint =
  'without --checkpoint, this does not detect that the newest events were deleted together with their seals, ' +
  'or that the holder of the key has sealed an altered log again';

const withRemembered = (folder: string): string =>
  `without --checkpoint, the last seals are read from ${folder}: this does not detect that the holder of the ` +
  'key, with write access there, has sealed an altered log again';

/** Reads the last checkpoints of the installation's key, if they are on this machine. */
const readRemembered = async (folder: string): Promise<readonly SignedCheckpoint[]> => {
  try {
    return await rememberedIn(folder);
  } catch (cause) {
    throw new CliError('REFUSED', `${folder} cannot be read: ${messageOf(cause)}`, { cause });
  }
};

/**
 * `linklog audit verify --seals`, with one public key or more after a change of the key, and a checkpoint. Without the
 * checkpoint and the installation's key, a log that was truncated at its end passes.
 */
export const verifySealsOf = async (
  config: Config,
  files: { readonly publicKeys: readonly string[]; readonly checkpoint: string | undefined },
): Promise<Output> => {
  const keys = new Map<string, KeyObject>();
  for (const file of files.publicKeys) {
    const key = await readKey(file);
    keys.set(keyIdOf(key), key);
  }
  const known = files.checkpoint === undefined ? [] : await readCheckpoints(files.checkpoint);
  const folder = sealMemoryOf(config.sealKeyFile ?? sealKeyFileIn(config.dataDir));
  const remembered = await readRemembered(folder);
  const reporting = { title: 'seals', work: 'the verification' };
  const verdict = await runOnDatabase(config, reporting, (database) =>
    verifySeals({ ...database, keys, known, remembered }),
  );
  const { partitions, proven, unproven, isIntact } = verdict;
  const after = `${counted(unproven, 'event')} after the last seals ${unproven === 1 ? 'is' : 'are'} unproven`;
  const found = partitions.flatMap(linesOf);
  return {
    json: verdict,
    text: isIntact
      ? `Intact: ${counted(proven, 'event')} ${proven === 1 ? 'is' : 'are'} as sealed; ${after}`
      : [
          'NOT INTACT',
          ...found,
          `${counted(proven, 'event')} before that are as sealed; ${after}`,
        ].join('\n'),
    ...(files.checkpoint === undefined && {
      notice: remembered.length === 0 ? withoutCheckpoint : withRemembered(folder),
    }),
    exitCode: isIntact ? 0 : 1,
  };
};

interface SealOptions {
  readonly export?: string;
  readonly exportKey?: string;
  readonly force?: true;
}

const neverSealed = (): CliError =>
  new CliError(
    'REFUSED',
    'this log was never sealed: run all projectors with the same SEAL_KEY_FILE',
  );

const shownSeals = async ({ pool, log }: CommandDatabase) => {
  const keys = await publishedKeys(pool);
  const [newest] = keys;
  if (newest === undefined) throw neverSealed();
  const trusted = new Map(keys.map(({ id, publicKey }) => [id, createPublicKey(publicKey)]));
  return { key: newest, checkpoints: await sealStore(pool, log).lastOfAll(trusted) };
};

const seal = async (config: Config, options: SealOptions): Promise<Output> => {
  const { key, checkpoints } = await withDatabase(config, shownSeals);
  const write = (file: string, text: string): Promise<void> =>
    writeNewFile(file, { replace: options.force === true }, (append) => append(Buffer.from(text)));
  if (options.export !== undefined) {
    if (checkpoints.length === 0) throw neverSealed();
    await write(options.export, checkpointText(checkpoints));
  }
  if (options.exportKey !== undefined) await write(options.exportKey, key.publicKey);
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
      formatFields([
        ['Key', key.id],
        ['Signs since', key.retiredAt ? null : key.since.toISOString()],
        ['Retired', key.retiredAt?.toISOString() ?? null],
      ]),
      key.publicKey.trimEnd(),
      table(['TOPIC', 'PARTITION', 'NEXT OFFSET', 'SEALED AT', 'CHAIN'], rows),
    ].join('\n'),
  };
};

const retire = async (config: Config): Promise<Output> => {
  const id = await withDatabase(config, ({ pool }) => retireKey(pool));
  if (id === null) throw new CliError('REFUSED', 'no key is active');
  return {
    json: { retired: id },
    text: `Retired the key ${id}: start the projectors with another SEAL_KEY_FILE`,
  };
};

export const addSealCommands: AddCommands = (audit, { readConfig, print, confirm }) => {
  const group = audit
    .command('seal')
    .description('show the key that seals the log, and its last checkpoints')
    .option('--export <file>', 'write the last checkpoints to a file')
    .option('--export-key <file>', 'write the public key to a file')
    .option('--force', 'replace an existing file')
    .notes(
      `
Store both files where users with write access to the log have none: a later verification compares the log
with them.

Examples:
  $ linklog audit seal --export-key linklog-seal.pub.pem
  $ linklog audit seal --export seals-$(date +%F).json`,
    )
    .action(async (options: SealOptions) => {
      print(await seal(readConfig(), options));
    });

  group
    .command('retire-key')
    .description('let the next projector that starts use another key; stop all projectors first')
    .confirmed()
    .action(async () => {
      await confirm({
        effect: 'The key never seals the log again, and projectors need another one',
      });
      print(await retire(readConfig()));
    });
};
