import type { Texts } from '../en/texts.js';

export const imports: Texts['imports'] = {};
