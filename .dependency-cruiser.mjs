/** Who may import whom: the table "Layout" of CONTRIBUTING.md. `npm run lint` checks it. */

/** The console's client runs in browsers, and has a rule of its own. */
const services = ['command-api(?!/console/client)', 'redirect-edge', 'projectors'];

/** Folders of `ops` that services use. */
const shared = [
  'platform',
  'http',
  'config',
  'event-log',
  'ledger',
  'feed',
  'webhooks',
  'visitors',
];

/** Tests, and the folders that only tests use. */
const tests = '(\\.(spec|suite)\\.ts$|/testing/|^ops/test/)';

/** `folder` imports nothing of ours outside itself and the folders in `may`. */
const only = (folder, ...may) => ({
  name: `${folder} imports only ${may.join(', ') || 'itself'}`,
  severity: 'error',
  from: { path: `^${folder}/`, pathNot: tests },
  to: {
    path: '^(schemas|command-api|redirect-edge|projectors|ops)/',
    pathNot: [folder, ...may].map((other) => (/[$]$/.test(other) ? `^${other}` : `^${other}[/.]`)),
  },
});

export default {
  forbidden: [
    {
      name: 'no cycles, not even of types',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'nothing but tests imports ops/test',
      severity: 'error',
      from: { pathNot: tests },
      to: { path: '^ops/test/' },
    },
    only('schemas'),
    only('ops/platform'),
    only('ops/http', 'schemas', 'ops/platform'),
    only('ops/config', 'schemas', 'ops/platform', 'ops/http', 'ops/event-log'),
    only('ops/event-log', 'schemas', 'ops/platform', 'ops/advisory-locks'),
    only('ops/ledger', 'schemas', 'ops/platform', 'ops/event-log', 'ops/advisory-locks'),
    only('ops/feed', 'schemas', 'ops/platform', 'ops/event-log'),
    only('ops/webhooks', 'schemas', 'ops/platform', 'ops/feed'),
    only('ops/visitors', 'schemas', 'ops/platform'),
    only('ops/clients'),
    only('ops/migrations', 'ops/platform', 'ops/advisory-locks'),
    only('ops/local', 'ops/platform', 'ops/http', 'ops/config'),
    ...services.map((service) =>
      only(service, 'schemas', 'ops/advisory-locks', ...shared.map((folder) => `ops/${folder}`)),
    ),
    ...['command', 'decision'].map((name) => ({
      name: `a ${name} is a pure function: schemas alone`,
      severity: 'error',
      from: { path: `^(command-api|redirect-edge)/.*/${name}[.]ts$` },
      to: {
        path: '^(command-api|redirect-edge|ops)/',
        pathNot: '/(command|reserved-alias|visit-data)[.]ts$',
      },
    })),
    only(
      ...['command-api/console/client', 'schemas', 'command-api/console/[a-z-]+[.]ts$'],
      'ops/clients',
    ),
    {
      name: "the console's client takes nothing but types from the schemas: it would ship zod",
      severity: 'error',
      from: { path: '^command-api/console/client/' },
      to: {
        path: '^schemas/',
        // Modules without zod.
        pathNot: ['^schemas/(encodings|pasted-code|statistics/document|trim-invisible|utm)[.]ts$'],
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'the composition root does not import the tools',
      severity: 'error',
      from: { path: '^ops/app/', pathNot: tests },
      to: { path: '^ops/tools/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.js'] },
  },
};
