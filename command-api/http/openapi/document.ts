import { linklogVersion } from '../../../ops/platform/files/project-file.js';
import { paths } from './operations.js';
import { componentHeaders, componentResponses } from './responses.js';
import { componentSchemas } from './schemas.js';

const description = `Create short links, and read their statistics.

Every request under \`/v2\` needs an API key. Each key has a limit per minute and monthly quotas, by
its plan; the remaining amounts are in headers and in \`GET /v2/usage\`. A key also has scopes: an operation
names the scope that it requires as its security requirement. A request may have an \`X-Request-Id\` of 1 to
128 visible characters, which the response repeats; by default it is generated. An unknown path is 404,
another method 405. \`HEAD\` works wherever \`GET\` does; a body on either is not read. Bodies and query
parameters are UTF-8; titles, notes, tags and names of keys are stored trimmed and in NFC.`;

/** The OpenAPI document, generated from the schemas that validate requests. */
export const openApiDocument = () => ({
  openapi: '3.1.1',
  info: {
    title: 'Linklog',
    version: linklogVersion(),
    description,
    // Each installation has its own.
    contact: { name: 'The operator of this installation' },
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  // Relative to the document, so it is correct behind every proxy.
  servers: [{ url: '/' }],
  security: [{ apiKey: [] }],
  tags: [
    { name: 'Links' },
    { name: 'Imports' },
    { name: 'Reports' },
    { name: 'Events' },
    { name: 'Webhooks' },
    { name: 'Domains' },
    { name: 'Keys' },
    { name: 'Health' },
  ],
  paths,
  components: {
    securitySchemes: {
      apiKey: {
        type: 'http',
        scheme: 'bearer',
        description:
          '`Authorization: Bearer ll_…`; operators issue the first keys, and keys create keys.',
      },
    },
    schemas: componentSchemas(paths),
    headers: componentHeaders,
    responses: componentResponses,
  },
});
