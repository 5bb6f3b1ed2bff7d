/** Pages that are loaded when one of them is shown first. In one file, they are smaller than in several. */
export { Domains } from './domains/domains.js';
export { ImportPage, Imports } from './imports/imports.js';
export { Keys } from './keys/keys.js';
export { People } from './people/people.js';
export { Sessions } from './sessions/sessions.js';
export { Tags } from './tags/tags.js';
export { WebhookPage, Webhooks } from './webhooks/webhooks.js';
