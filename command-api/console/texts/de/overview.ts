import type { Texts } from '../en/texts.js';

export const overview: Texts['overview'] = {};
