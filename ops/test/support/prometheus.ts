import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { freePort } from '../../local/process/server.js';
import { projectFile } from '../../platform/files/project-file.js';
import { nullOn } from '../../platform/errors.js';
import { sendRequest } from './http.js';
import { temporaryDir } from './process.js';
import { eventually } from './waiting.js';

const rule = z.looseObject({
  alert: z.string().optional(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});
const ruleFile = z.object({
  groups: z.array(z.object({ name: z.string(), rules: z.array(rule) })),
});

export const monitoringFile = (name: string): string => projectFile('ops', 'monitoring', name);

const readYaml = (name: string): unknown => parse(readFileSync(monitoringFile(name), 'utf8'));

const readRules = (): z.infer<typeof ruleFile> => ruleFile.parse(readYaml('alerts.yml'));

/** All rules of alerts.yml. */
export const alertRules = (): readonly z.infer<typeof rule>[] =>
  readRules().groups.flatMap(({ rules }) => rules);

/** Names of metrics in an expression, with the suffixes of histograms. */
export const metricsIn = (expr: string): readonly string[] =>
  [...expr.matchAll(/\b(?:linklog|process|nodejs)_\w+/g)].map(([name]) => name);

/** How many times as fast the alerts of a test are. A range must cover several scrapes. */
const speed = 15;
const scrapeSeconds = 4;

const shorten = (duration: string): string => {
  const [, count = '', unit = ''] = /^(\d+)([ms])$/.exec(duration) ?? [];
  const seconds = Number(count) * (unit === 'm' ? 60 : 1);
  if (!(seconds > 0)) throw new Error(`the duration ${duration} has no minutes or seconds`);
  return `${Math.ceil(seconds / speed)}s`;
};

/** The rules with shorter durations and ranges, and the same conditions. */
const shortRules = (): z.infer<typeof ruleFile> => ({
  groups: readRules().groups.map(({ name, rules }) => ({
    name,
    rules: rules.map(({ for: pending, ...rest }) => ({
      ...rest,
      expr: rest.expr.replaceAll(/\[(\w+)\]/g, (_, range: string) => `[${shorten(range)}]`),
      ...(pending !== undefined && { for: shorten(pending) }),
    })),
  })),
});

const configFile = z.looseObject({
  scrape_configs: z.tuple([
    z.looseObject({ authorization: z.object({ type: z.string(), credentials_file: z.string() }) }),
  ]),
});

const alertsResponse = z.object({
  data: z.object({
    alerts: z.array(
      z.object({
        labels: z.looseObject({ alertname: z.string() }),
        state: z.enum(['pending', 'firing']),
      }),
    ),
  }),
});

/** How long an alert may take to change on a busy machine (ms). */
const changesWithinMs = 240_000;

/** Prometheus with the example configuration and the alert rules, both faster. */
export const startPrometheus = async (options: {
  /** The admin listeners. */
  readonly admins: readonly string[];
  readonly metricsToken: string;
}) => {
  const dir = await temporaryDir();
  const file = (name: string): string => path.join(dir, name);
  const config = configFile.parse(readYaml('prometheus.yml'));
  const [job] = config.scrape_configs;
  const targets = options.admins.map((admin) => new URL(admin).host);
  const timing = { scrape_interval: `${scrapeSeconds}s`, scrape_timeout: `${scrapeSeconds}s` };
  await writeFile(
    file('prometheus.yml'),
    stringify({
      ...config,
      global: { ...timing, evaluation_interval: '1s' },
      scrape_configs: [{ ...job, static_configs: [{ targets }] }],
    }),
  );
  await writeFile(file('alerts.yml'), stringify(shortRules()));
  await writeFile(file(job.authorization.credentials_file), options.metricsToken);
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    'prometheus',
    [
      `--config.file=${file('prometheus.yml')}`,
      `--storage.tsdb.path=${file('data')}`,
      `--web.listen-address=${address}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = once(child, 'exit');

  const firing = async (): Promise<ReadonlySet<string>> => {
    const response = await sendRequest(`http://${address}/api/v1/alerts`);
    const { alerts } = alertsResponse.parse(response.json()).data;
    return new Set(
      alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname),
    );
  };
  const untilEmpty = (
    left: Set<string>,
    what: string,
    isGone: (name: string, current: ReadonlySet<string>) => boolean,
  ): Promise<void> =>
    eventually(
      what,
      async () => {
        const current = await firing();
        for (const name of left) if (isGone(name, current)) left.delete(name);
        return left.size === 0;
      },
      changesWithinMs,
    ).catch((error: unknown) => {
      throw new Error(`${what}, not: ${[...left].join(', ')}`, { cause: error });
    });
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await eventually('Prometheus is ready', async () => {
      if (child.exitCode !== null) throw new Error(`Prometheus exited:\n${output}`);
      const response = await nullOn(sendRequest(`http://${address}/-/ready`), 'ECONNREFUSED');
      return response?.status === 200;
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    /** Waits until an alert with each name fires. */
    untilFiring: (names: readonly string[]): Promise<void> =>
      // An alert may end before another one begins.
      untilEmpty(new Set(names), 'the alerts fire', (name, current) => current.has(name)),
    /** Waits until each alert with one of these names ends. */
    untilEnded: (names: readonly string[]): Promise<void> =>
      untilEmpty(new Set(names), 'the alerts end', (name, current) => !current.has(name)),
    stop,
  };
};
