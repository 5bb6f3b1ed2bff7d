import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { inheritedEnvironment } from '../../config/config.js';
import { projectFile } from '../../platform/files/project-file.js';
import { markdownTable } from '../support/table.js';
import type { Kind } from './objects.js';

/** A fault of the product, as a replacement in one of its compiled files. */
interface Mutation {
  readonly name: string;
  /** The objects that show the fault. */
  readonly kind: Kind;
  readonly file: string;
  /** Occurs once in the file. */
  readonly from: string;
  readonly to: string;
  /** In the stack instead of the embedded product: the fault needs several processes, or Redis. */
  readonly onStack?: true;
}

const mutations: readonly Mutation[] = [
  {
    name: 'an edge remembers the first limit of a link',
    kind: 'limit',
    file: 'redirect-edge/links/click.js',
    from: 'const { subject, maxClicks, clicks, account } = link;',
    to: `const { subject, clicks, account } = link;
        const limits = (globalThis.limits ??= new Map());
        if (!limits.has(subject)) limits.set(subject, link.maxClicks);
        const maxClicks = limits.get(subject);`,
  },
  {
    name: 'COMMIT is acknowledged before it is durable',
    kind: 'limit',
    file: 'ops/platform/postgres/pool.js',
    from: '`SET idle_in_transaction_session_timeout = ${idleInTransaction}`,',
    to: "'SET synchronous_commit = off', `SET idle_in_transaction_session_timeout = ${idleInTransaction}`,",
  },
  {
    name: 'an edge serves a changed link for 5 s more',
    kind: 'destination',
    file: 'redirect-edge/links/changes.js',
    from: 'links.changed(change.subject, change.sequence);',
    to: 'setTimeout(() => links.changed(change.subject, change.sequence), 5_000);',
  },
  {
    name: 'an edge remembers for 2 s that a link does not exist',
    kind: 'alias',
    file: 'redirect-edge/links/link-reader.js',
    from: 'async read(subject) {',
    to: `async read(subject) {
        const missing = (this.missing ??= new Map());
        if (missing.get(subject) > Date.now() - 2_000) return null;
        const link = await this.readNow(subject);
        if (link === null) missing.set(subject, Date.now());
        return link;
    }
    async readNow(subject) {`,
  },
  {
    name: 'If-Match is ignored',
    kind: 'destination',
    file: 'command-api/links/change/route.js',
    from: "ifMatch(ctx.headers['if-match'])",
    to: 'null',
  },
  {
    name: 'a limit may be below the clicks taken',
    kind: 'limit',
    file: 'command-api/links/change/command.js',
    from: 'change.maxClicks < taken',
    to: 'change.maxClicks < 0',
  },
  {
    name: 'a link is read without the newest events',
    kind: 'destination',
    file: 'ops/ledger/link-states.js',
    from: 'of await outbox.after(postgres, topics.links.name, known)',
    to: 'of []',
  },
  {
    name: 'the quota is checked for the first link of a group only',
    kind: 'quota',
    file: 'command-api/links/create/command.js',
    from: 'meter && linkLimit !== null',
    to: 'meter && ledgerLinks.size === 0 && linkLimit !== null',
  },
  {
    name: 'the usage is cached for 2 s',
    kind: 'quota',
    file: 'command-api/http/routes.js',
    from: 'json(200, usageOf(call, deps.plans))',
    to: `{
            const usages = (globalThis.usages ??= new Map());
            const known = usages.get(call.key.rootId);
            if (known && known.at > Date.now() - 2_000) return known.reply;
            const reply = json(200, usageOf(call, deps.plans));
            usages.set(call.key.rootId, { at: Date.now(), reply });
            return reply;
        }`,
  },
  {
    name: 'links are decided without a lock of their rows',
    kind: 'limit',
    file: 'ops/ledger/links.js',
    from: 'ORDER BY subject FOR UPDATE`',
    to: 'ORDER BY subject`',
    onStack: true,
  },
  {
    name: 'links are created without a lock of the meter',
    kind: 'quota',
    file: 'ops/ledger/meters.js',
    from: 'ORDER BY m.key_id FOR UPDATE OF m',
    to: 'ORDER BY m.key_id',
    onStack: true,
  },
  {
    name: 'an edge serves copies in Redis that lack a change',
    kind: 'destination',
    file: 'redirect-edge/links/freshness.js',
    from: 'return isYoung && this.isComplete && copy.sequence === sequence;',
    to: 'return isYoung;',
    onStack: true,
  },
];

const withinSeconds = 600;

/**
 * In the project, so that modules find its node_modules: if that is a symbolic link, Node 20 sometimes imports a
 * CommonJS module by the path of the link and loads it by its real path, and all its imports are undefined.
 */
const project = projectFile('.mutation');

/** Copies the build into the folder, and changes it. */
const build = async (folder: string, { name, file, from, to }: Mutation): Promise<void> => {
  await cp(projectFile('dist'), path.join(folder, 'dist'), { recursive: true });
  const mutated = path.join(folder, 'dist', file);
  const [before = '', after, ...more] = (await readFile(mutated, 'utf8')).split(from);
  if (after === undefined || more.length > 0) throw new Error(`${name}: not once in ${file}`);
  await writeFile(mutated, [before, after].join(to));
};

/** Runs each mutation until the checker finds a violation. */
export const tryMutations = async (options: {
  readonly seed: number;
  readonly folder: string;
  /** Only those whose name contains this text. */
  readonly only: string;
  readonly report: (line: string) => void;
}): Promise<{ readonly table: string; readonly missed: number }> => {
  const { seed, folder, only, report } = options;
  const rows: (readonly (string | number)[])[] = [];
  let missed = 0;
  const selected = mutations.filter(({ name }) => name.includes(only));
  for (const [index, mutation] of selected.entries()) {
    await rm(project, { recursive: true, force: true });
    await build(project, mutation);
    const main = path.join(project, 'dist/ops/test/linearizability/main.js');
    const limits = ['--seconds', String(withinSeconds), '--faults', '1000', '--seed', String(seed)];
    const kinds = ['--kinds', mutation.kind];
    const system = mutation.onStack ? ['--brokers', '1'] : ['--embedded'];
    const results = path.join(folder, `mutation-${index}`);
    const startedAt = performance.now();
    const child = spawn(
      process.execPath,
      [main, ...limits, ...kinds, ...system, '--folder', results],
      {
        env: { ...inheritedEnvironment() },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    const [exitCode] = (await once(child, 'close')) as [number | null];
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    const kind = /^\| (\w+) .*\| Illegal/m.exec(output)?.[1];
    if (kind === undefined && exitCode !== 0) throw new Error(`${mutation.name}: ${output}`);
    if (kind === undefined) missed += 1;
    const row = [mutation.name, mutation.onStack ? 'stack' : 'embedded', kind ?? 'missed', seconds];
    rows.push(row);
    report(row.join(', '));
    await rm(project, { recursive: true });
  }
  return { table: markdownTable(['mutation', 'product', 'violation', 'seconds'], rows), missed };
};
