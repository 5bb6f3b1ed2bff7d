import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { projectFile } from './project-file.js';

/** This Linklog's version. */
export const linklogVersion = (): string =>
  z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(projectFile('package.json'), 'utf8'))).version;
