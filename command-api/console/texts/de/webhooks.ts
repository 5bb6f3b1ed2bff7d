import type { Texts } from '../en/texts.js';

export const webhooks: Texts['webhooks'] = {};
