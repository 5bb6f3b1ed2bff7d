import type { Texts } from '../en/texts.js';

export const operators: Texts['operators'] = {};
