import type {
  OperatorsWebhookListResponse,
  TestedWebhookResponse,
} from '../../../schemas/http/webhooks.js';
import { notEmpty, required, timeOf } from './arguments.js';
import type { AddCommands } from './command.js';
import { count, plain, table, type Output } from './output.js';

const head = ['ID', 'ACCOUNT', 'STATUS', 'LAG', 'LAST DELIVERY', 'URL', 'REASON'];

const rowOf = (webhook: OperatorsWebhookListResponse['webhooks'][number]): readonly string[] => {
  const { id, account, status, lag, lastDelivery: last, url, disabledReason } = webhook;
  return [
    ...[id, account, status, count(lag)],
    ...[last ? `${last.status} ${last.at}` : '-', plain(url), disabledReason ?? ''],
  ];
};

const testedOf = (tested: TestedWebhookResponse): Output => {
  const { delivered, status, durationMs, error } = tested;
  const result = `${error ?? `HTTP ${status ?? '?'}`} after ${count(durationMs)} ms`;
  return delivered
    ? { json: tested, text: `Delivered: ${result}` }
    : { json: tested, notice: `not delivered: ${plain(result)}`, exitCode: 1 };
};

/** A receiver has 15 s to respond to a test. */
const testTimeoutMs = 20_000;

/** The service validates the format of a cursor. @throws CliError */
const replayStart = (word: string): string => (/^\d{4}-/.test(word) ? timeOf(word) : word);

export const addWebhookCommands: AddCommands = (program, { connect, print, confirm }) => {
  const webhooks = program
    .command('webhooks')
    .description('list, test and replay webhooks of any account');
  const id = ['<id>', 'id of the webhook', notEmpty('id')] as const;

  webhooks
    .command('list')
    .description('list the webhooks of one account or of all accounts, with undelivered events')
    .option('--account <account>', 'only webhooks of this account')
    .examples(
      'webhooks list',
      'webhooks list --json | jq \'.webhooks[] | select(.status == "disabled")\'',
    )
    .action(async ({ account }: { readonly account?: string }) => {
      const client = await connect();
      const { webhooks: found } = await client.get('listWebhooks', { query: { account } });
      const text = found.length === 0 ? 'There are no webhooks.' : table(head, found.map(rowOf));
      print({ json: { webhooks: found }, text });
    });

  webhooks
    .command('test')
    .description('deliver a test event now; exit code 1 if it is not delivered')
    .argument(...id)
    .examples('webhooks test 01990000-0000-7000-8000-000000000000')
    .action(async (webhook: string) => {
      const request = { parameters: { id: webhook }, timeoutMs: testTimeoutMs };
      print(testedOf(await (await connect()).get('testWebhook', request)));
    });

  webhooks
    .command('replay')
    .description('deliver the events after a cursor or a time again')
    .argument(...id)
    .option(
      '--after <position>',
      '"start", a cursor, or a time: ISO 8601 with an offset, or a date',
    )
    .confirmed()
    .examples(
      'webhooks replay 01990000-0000-7000-8000-000000000000 --after 2026-05-20T12:00:00Z',
      'webhooks replay 01990000-0000-7000-8000-000000000000 --after start',
    )
    .action(async (webhook: string, options: { readonly after?: string }) => {
      const after = replayStart(required(options.after, '--after', 'webhooks replay'));
      await confirm({ effect: `The receiver gets the events after ${after} again` });
      const request = { parameters: { id: webhook }, body: { after } };
      await (await connect()).call('replayWebhook', request);
      print({
        json: { id: webhook, after },
        text: `The webhook ${webhook} delivers the events after ${after} again`,
      });
    });
};
