import type { Texts } from '../en/texts.js';

export const rules: Texts['rules'] = {};
