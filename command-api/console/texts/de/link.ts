import type { Texts } from '../en/texts.js';

export const link: Texts['link'] = {};
