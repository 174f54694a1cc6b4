/** Where a sign-in leads afterwards: the only function that makes a redirect of what a request says (docs/rules/console.md#providers). */

/** The path that a text names within the origin; `/` for what leads elsewhere or is no URL. */
export function ownPath(text: string | undefined, origin = "http://console.invalid"): string {
  if (text === undefined || !URL.canParse(text, origin)) return "/";
  const { origin: named, pathname, search } = new URL(text, origin);
  // `/..//host` is a path of this origin whose short form, `//host`, is another host
  return named === origin && !pathname.startsWith("//") ? `${pathname}${search}` : "/";
}
