export const overview = {
  thisMonth: 'This month',
  /** After the name of the plan. */
  plan: 'Plan {plan}, reset on {day}',
  planWithUrl: 'Plan {plan} ({offer}), reset on {day}',
  seePlans: 'see the plans',
  calls: 'API calls',
  links: 'Links',
  qrCodes: 'QR codes',
  callsAtLimit:
    'At the limit, API calls get status 429 until the reset. Links continue to redirect.',
  linksAtLimit:
    'At the limit, no more links are created until the reset. Existing links continue to redirect.',
  qrCodesAtLimit:
    'At the limit, no more QR codes are created until the reset. Existing ones continue to work.',
  topLinks: 'Top links',
  allDomains: 'All domains',
};
