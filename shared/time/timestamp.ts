/**
 * Points in time and calendar days as clients write them (docs/rules/management-api.md#times). JavaScript's own parser
 * is too tolerant: it reads 31 February as 3 March, 24:00 as the next day, and a time without a zone in the zone of the
 * server.
 */

const TIMESTAMP =
  /^(?<day>\d{4}-\d{2}-\d{2})T(?<hour>[01]\d|2[0-3]):(?<minute>[0-5]\d)(?::(?<second>[0-5]\d)(?:[.,](?<fraction>\d+))?)?(?:Z|(?<sign>[+-])(?<offsetHour>[01]\d|2[0-3])(?::?(?<offsetMinute>[0-5]\d))?)$/i;

const MINUTE_MS = 60_000;
/** Years have four digits, so that every accepted time can be written in the same form: 1 to 9999, in UTC. */
const FIRST_MS = Date.parse("0001-01-01T00:00:00.000Z");
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** True for YYYY-MM-DD of a day that exists in the Gregorian calendar, from year 1 on. */
export function isCalendarDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith("0000")) return false;
  const midnightMs = Date.parse(`${text}T00:00:00Z`);
  // a day that does not exist is NaN, or read as one of the next month
  return !Number.isNaN(midnightMs) && new Date(midnightMs).toISOString().startsWith(text);
}

/**
 * Epoch ms of an ISO 8601 date and time with `Z` or an offset. Null for anything else: no zone, a day that does not exist,
 * 24:00, a leap second, an offset of a day or more, a year outside of 1 to 9999 in UTC. Seconds may be absent; fractions
 * below a millisecond are cut off.
 */
export function parseTimestamp(text: string): number | null {
  const { day, hour, minute, second, fraction, sign, offsetHour, offsetMinute } = TIMESTAMP.exec(text)?.groups ?? {};
  if (day === undefined || !isCalendarDay(day)) return null;
  const millis = (fraction ?? "").slice(0, 3).padEnd(3, "0");
  const localMs = Date.parse(`${day}T${hour}:${minute}:${second ?? "00"}.${millis}Z`);
  const offsetMs = (Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0)) * MINUTE_MS;
  const epochMs = sign === "-" ? localMs + offsetMs : localMs - offsetMs;
  return epochMs >= FIRST_MS && epochMs <= LAST_MS ? epochMs : null;
}
