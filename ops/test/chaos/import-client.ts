/** Requests of the account whose imports are tested. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ImportListResponse, ImportResponse } from '../../../schemas/http/imports.js';
import { sendRequest } from '../support/http.js';
import { eventually } from '../support/waiting.js';
import type { FeedTarget } from './feed-target.js';

export const account = 'imports';

/** For the end of imports, and for their projection. */
export const finalMs = 300_000;

export const bearer = (key: string): Record<string, string> => ({ Authorization: `Bearer ${key}` });

export const readText = async (target: FeedTarget, path: string, key: string): Promise<string> => {
  const response = await sendRequest(`${target.apis()[0]}${path}`, { headers: bearer(key) });
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${response.text}`);
  return response.text;
};

export const jsonLines = (text: string): readonly unknown[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);

export const listImports = async (
  target: FeedTarget,
  key: string,
): Promise<readonly ImportResponse[]> =>
  (JSON.parse(await readText(target, '/v2/imports', key)) as ImportListResponse).imports;

export const countBy = <Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
};

/** Waits until no import runs. @returns all imports of the account */
export const importsAtEnd = async (
  target: FeedTarget,
  key: string,
): Promise<readonly ImportResponse[]> => {
  await eventually(
    'imports end',
    async () => {
      await sleep(200);
      return (await listImports(target, key)).every(({ status }) => status !== 'running');
    },
    finalMs,
  );
  return listImports(target, key);
};
