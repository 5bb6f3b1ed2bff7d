import type { Texts } from '../en/texts.js';

export const statistics: Texts['statistics'] = {};
