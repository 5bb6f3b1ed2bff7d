import type { Texts } from '../en/texts.js';

export const make: Texts['make'] = {};
