/**
 * Zones that break what is believed of zones: offsets of quarters and halves of an hour, changes of half
 * an hour and of two, changes at midnight, days that never were.
 */
export const zones = [
  'UTC',
  'Africa/Cairo',
  'Africa/Casablanca',
  'America/Asuncion',
  'America/Havana',
  'America/New_York',
  'America/Sao_Paulo',
  'America/Scoresbysund',
  'America/St_Johns',
  'Antarctica/Troll',
  'Asia/Beirut',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Asia/Pyongyang',
  'Asia/Tehran',
  'Australia/Eucla',
  'Australia/Lord_Howe',
  'Europe/Berlin',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
] as const;
