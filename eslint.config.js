import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';
import { importX } from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

const services = ['command-api', 'redirect-edge', 'projectors'];

/** Which rooms a room may not look into; see CONTRIBUTING.md, "The rooms". */
const zones = [
  // The shared language knows nobody.
  { target: './schemas', from: [...services, 'ops'].map((room) => `./${room}`) },
  // Services know the language and the platform, never each other.
  ...services.map((service) => ({
    target: `./${service}`,
    from: services.filter((other) => other !== service).map((other) => `./${other}`),
  })),
  ...services.map((service) => ({
    // Specs, and what only they use, may use what ops keeps for tests.
    target: [`./${service}/!(*.spec).ts`, `./${service}/!(testing)/**/!(*.spec).ts`],
    from: './ops',
    except: ['./platform'],
  })),
  // The platform is below the services and below the rest of ops.
  { target: './ops/platform', from: services.map((room) => `./${room}`) },
  // A domain folder is pure: the language and its own folder.
  ...services.flatMap((service) => [
    { target: `./${service}/domain`, from: './ops' },
    { target: `./${service}/domain`, from: `./${service}`, except: ['./domain'] },
  ]),
];

export default tseslint.config(
  { ignores: ['dist', 'node_modules', '.data'] },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    plugins: { 'import-x': importX },
    languageOptions: { parserOptions: { projectService: true } },
    settings: { 'import-x/resolver-next': [createTypeScriptImportResolver()] },
    rules: {
      'import-x/no-cycle': 'error',
      'import-x/no-restricted-paths': ['error', { zones }],
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'Only ops/platform/config reads the environment.',
        },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
    },
  },
  {
    files: ['ops/platform/config/config.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    // chai's `expect(x).to.be.true` is an expression by design.
    files: ['**/*.spec.ts', '**/*.suite.ts'],
    rules: { '@typescript-eslint/no-unused-expressions': 'off' },
  },
);
