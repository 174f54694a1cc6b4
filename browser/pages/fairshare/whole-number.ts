/** Numbers as they are typed into a field. Pure. */

/** The number, null for an empty field; what is no whole number stays as it is, so that the schema refuses it. */
export function typedNumber(typed: string): number | null | string {
  const text = typed.trim();
  if (text === "") return null;
  return /^\d{1,16}$/.test(text) ? Number(text) : text;
}
