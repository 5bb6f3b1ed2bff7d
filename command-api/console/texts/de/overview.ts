import type { Texts } from '../en/texts.js';

export const overview: Texts['overview'] = {
  thisMonth: 'Dieser Monat',
  plan: 'Tarif {plan}, Zurücksetzung am {day}',
  planWithUrl: 'Tarif {plan} ({offer}), Zurücksetzung am {day}',
  seePlans: 'Tarife ansehen',
  calls: 'API-Aufrufe',
  links: 'Links',
  qrCodes: 'QR-Codes',
  callsAtLimit:
    'An der Grenze erhalten API-Aufrufe bis zur Zurücksetzung den Status 429. Links leiten weiter.',
  linksAtLimit:
    'An der Grenze werden bis zur Zurücksetzung keine Links mehr erstellt. Vorhandene leiten weiter.',
  qrCodesAtLimit:
    'An der Grenze werden bis zur Zurücksetzung keine QR-Codes mehr erstellt. Vorhandene gelten weiter.',
  topLinks: 'Meistgeklickte Links',
  allDomains: 'Alle Domains',
};
