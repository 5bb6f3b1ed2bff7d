import type { OperatorsDomain } from '../../../schemas/http/domains.js';
import { notEmpty, required } from './arguments.js';
import type { AddCommands } from './command.js';
import { changed, count, table } from './output.js';

const head = ['DOMAIN', 'ACCOUNT', 'LINKS', 'ADDED BY', 'ACTIVE SINCE'];

const rowOf = (domain: OperatorsDomain): readonly string[] => [
  domain.domain,
  domain.account,
  count(domain.linkCount),
  domain.verification === null ? 'operator' : 'account',
  domain.verifiedAt?.slice(0, 10) ?? '-',
];

type AddOptions = Readonly<Partial<{ account: string; caseInsensitive: true }>>;

export const addDomainCommands: AddCommands = (program, { connect, print, confirm }) => {
  const domains = program
    .command('domains')
    .description('add, list and remove domains of accounts');

  domains
    .command('add')
    .description('add an active domain to an account, without a DNS check')
    .argument('<domain>', 'host name', notEmpty('domain'))
    .option('--account <account>', 'account that may create links on it')
    .option(
      '--case-insensitive',
      'letters of either case are the same in its codes; cannot change later',
    )
    .examples('domains add go.example.com --account acme')
    .action(async (domain: string, { account: named, ...options }: AddOptions) => {
      const account = required(named, '--account', 'domains add');
      const body = { domain, account, ...options };
      const change = await (await connect()).call('addDomain', { body });
      print(
        changed(change, (added) => `The domain ${added.domain} is active for ${added.account}`),
      );
    });

  domains
    .command('list')
    .description('list the active domains of all accounts')
    .examples('domains list', "domains list --json | jq -r '.domains[].domain'")
    .action(async () => {
      const pages = await (await connect()).pages('listDomains');
      const active = pages.flatMap((page) => page.domains);
      const text = active.length === 0 ? 'There are no domains.' : table(head, active.map(rowOf));
      print({ json: { domains: active }, text });
    });

  domains
    .command('remove')
    .description('release a domain; its links return 404 until the same account gets it again')
    .argument('<domain>', 'host name', notEmpty('domain'))
    .confirmed()
    .examples('domains remove go.example.com', 'domains remove go.example.com --yes')
    .action(async (domain: string) => {
      await confirm({
        effect: `All links on ${domain} return 404 until the same account gets the domain again`,
      });
      const change = await (await connect()).call('removeDomain', { parameters: { domain } });
      print(
        changed(
          change,
          (removed) =>
            `Removed: ${removed.domain}. Its links return 404 until the same account gets it again.`,
        ),
      );
    });
};
