/** Pages that are loaded when one of them is shown first. In one file, they are 1 KB smaller than in four. */
export { ImportPage, Imports } from './imports/imports.js';
export { People } from './people/people.js';
export { Tags } from './tags/tags.js';
export { WebhookPage, Webhooks } from './webhooks/webhooks.js';
