import type { Texts } from '../en/texts.js';

export const domains: Texts['domains'] = {};
