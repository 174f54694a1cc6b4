/** The address of the page after this one, as a list's `link` header names it (docs/rules/management-api.md#lists). */

/** The address with rel="next" (RFC 8288), where it is one of the console's own; else null. */
export function nextOf(link: string | null): string | null {
  const address = /^<(\/api\/live\/[^>]*)>; rel="next"$/.exec(link ?? "")?.[1];
  return address ?? null;
}
