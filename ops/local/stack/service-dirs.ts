import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { serviceKinds, type ServiceKind } from './topology.js';

const folder = new RegExp(`^(${serviceKinds.join('|')})-\\d+$`);

/** The DATA_DIR of a service, within the stack's. */
export const serviceDir = (dataDir: string, kind: ServiceKind, index: number): string =>
  join(dataDir, `${kind}-${index}`);

/** Those of all services that ever ran in a stack's; none where it is no stack's. */
export const serviceDirs = (dataDir: string): readonly string[] => {
  const names = existsSync(dataDir) ? readdirSync(dataDir) : [];
  return names.filter((name) => folder.test(name)).map((name) => join(dataDir, name));
};
