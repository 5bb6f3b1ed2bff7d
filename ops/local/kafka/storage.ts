import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ServerFailed } from '../postgres/errors.js';
import { hasCode } from '../../platform/errors.js';
import { lastLines } from '../postgres/run.js';
import { explainJava } from './java.js';
import { formatArguments } from './settings.js';

/** The id of the cluster whose data this folder has; null where there are none yet. */
export const clusterIdOf = async (logDir: string): Promise<string | null> => {
  try {
    const meta = await readFile(join(logDir, 'meta.properties'), 'utf8');
    return /^cluster\.id=(.+)$/m.exec(meta)?.[1] ?? null;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
};

/** As Kafka makes them itself: 16 bytes; a leading hyphen would look like an option. */
const newClusterId = (): string => {
  const id = randomBytes(16).toString('base64url');
  return id.startsWith('-') ? newClusterId() : id;
};

/** Makes the data of a new cluster. `meta.properties` comes last, so a kill leaves no half-made one. */
export const formatStorage = async (
  dir: string,
  jars: string,
  properties: string,
): Promise<string> => {
  const clusterId = newClusterId();
  try {
    await promisify(execFile)('java', [...formatArguments(jars, properties, clusterId)], {
      cwd: dir,
    });
  } catch (error) {
    const explained = explainJava(error);
    if (explained !== error) throw explained;
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new ServerFailed('Kafka could not make its data directory', {
      output: lastLines(`${stdout}\n${stderr}`),
      cause: error,
    });
  }
  return clusterId;
};
