import type { Texts } from '../en/texts.js';

export const links: Texts['links'] = {};
