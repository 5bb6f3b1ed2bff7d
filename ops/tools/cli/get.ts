import { z } from 'zod';
import { jsonText } from '../../platform/parse.js';
import type { AddCommands } from './command.js';
import { findService } from './service.js';
import { createTransport } from './transport.js';

/** Metrics are not JSON. */
const report = jsonText.pipe(z.looseObject({}));

export const addGetCommand: AddCommands = (program, { readConfig, actor, print }) => {
  program
    .command('get')
    .description('print what a process reports: its health, its metrics, or a call of operators')
    .argument('<path>', 'such as /health/ready, /metrics or /admin/processes')
    .notes(
      `
It asks the process in whose container or with whose variables it runs. The exit code is 1 if the process is
not ready.`,
    )
    .examples('get /health/ready', 'get /metrics | grep linklog_spool')
    .action(async (path: string) => {
      const config = readConfig();
      const service = await findService(config);
      // An edge has no admin token.
      const token = service.token ?? config.metricsToken;
      const { send, refusal } = createTransport({ ...service, token }, actor());
      const response = await send('GET', path.startsWith('/') ? path : `/${path}`);
      const isReport = response.status === 503 && path.includes('health');
      if (response.status !== 200 && !isReport) throw refusal(response);
      const { data: json } = report.safeParse(response.text);
      print({
        ...(json && { json }),
        text: json ? JSON.stringify(json, null, 2) : response.text.trimEnd(),
        exitCode: isReport ? 1 : 0,
      });
    });
};
