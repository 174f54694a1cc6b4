/**
 * Where a sign-in leads afterwards: the only function that builds a redirect from values of a request
 * (docs/rules/console.md#providers).
 */

/** A browser drops a cookie of more than 4,096 bytes, and the path is sealed in a cookie during a sign-in. */
const PATH_MAX_CHARACTERS = 1000;

/** The path that a text names within the origin; `/` if it leads elsewhere, is not a URL or is too long. */
export function ownPath(text: string | undefined, origin = "http://console.invalid"): string {
  if (text === undefined || !URL.canParse(text, origin)) return "/";
  const { origin: named, pathname, search } = new URL(text, origin);
  // `/..//host` is a path of this origin whose short form, `//host`, is another host
  const path = `${pathname}${search}`;
  return named === origin && !path.startsWith("//") && path.length <= PATH_MAX_CHARACTERS ? path : "/";
}
