import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist', 'node_modules', '.data', '.venv', '.postgres-15', '.postgres-17'] },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'Only ops/config reads the environment.',
        },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
    },
  },
  {
    // The test run has variables of its own, which are not the product's.
    files: ['ops/config/config.ts', 'ops/test/**'],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    // Texts of the console are in its catalogue, command-api/console/texts/.
    files: ['command-api/console/client/**/*.tsx'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'JSXElement[openingElement.name.name!="code"] > JSXText[value=/[A-Za-z]{2}/]',
          message: 'Use a text of the catalogue.',
        },
        {
          selector: 'JSXFragment > JSXText[value=/[A-Za-z]{2}/]',
          message: 'Use a text of the catalogue.',
        },
        {
          selector:
            'JSXAttribute[name.name=/^(label|title|hint|placeholder|aria-label|alt|verb|what|none|atLimit)$/] Literal[value=/^(?!.*example\\.).*[A-Za-z]{2}/]',
          message: 'Use a text of the catalogue.',
        },
      ],
    },
  },
  {
    // chai's `expect(x).to.be.true` is an expression by design.
    files: ['**/*.spec.ts', '**/*.suite.ts'],
    rules: { '@typescript-eslint/no-unused-expressions': 'off' },
  },
);
