import type { Texts } from '../en/texts.js';

export const keys: Texts['keys'] = {};
