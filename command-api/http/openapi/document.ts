import { linklogVersion } from '../../../ops/platform/files/project-file.js';
import { paths } from './operations.js';
import { componentHeaders, componentResponses } from './responses.js';
import { componentSchemas } from './schemas.js';

const description = `Make short links, and see what became of them.

Every request under \`/v2\` needs an API key. Each key has a limit per minute and monthly quotas, by
its plan; what is left stands in headers and in \`GET /v2/usage\`. A key also has scopes: an operation
that needs one names it as its security requirement. Errors have one shape,
\`GeneralError\`, except 401, 403 and the 429 of a monthly quota, which have their own. An unknown path
is 404, another method 405. \`HEAD\` works wherever \`GET\` does; a body on either is not read. Bodies
and query parameters are UTF-8; titles, notes, tags and names of keys are stored trimmed and in NFC.`;

/** The listener's OpenAPI document, made of the schemas that validate what it describes. */
export const openApiDocument = () => ({
  openapi: '3.1.1',
  info: {
    title: 'Linklog',
    version: linklogVersion(),
    description,
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  // Where the document came from: right behind any proxy, too.
  servers: [{ url: '/' }],
  security: [{ apiKey: [] }],
  tags: [{ name: 'Links' }, { name: 'Reports' }, { name: 'Keys' }, { name: 'Health' }],
  paths,
  components: {
    securitySchemes: {
      apiKey: {
        type: 'http',
        scheme: 'bearer',
        description:
          '`Authorization: Bearer ll_…`; operators issue the first keys, and keys make keys.',
      },
    },
    schemas: componentSchemas(),
    headers: componentHeaders,
    responses: componentResponses,
  },
});
