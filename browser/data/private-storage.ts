/**
 * What a person has pasted and only this tab may know: in the session storage of the tab, under the person it belongs to, until
 * sign-out. A browser without storage keeps nothing.
 */
const NAME = "gateway-private";

/** What this person has kept; empty: nothing. What another one has left is removed. */
export function readPrivate(userId: string): string {
  try {
    const stored = sessionStorage.getItem(NAME) ?? "";
    if (stored.startsWith(`${userId} `)) return stored.slice(userId.length + 1);
    sessionStorage.removeItem(NAME);
  } catch {
    // storage is switched off
  }
  return "";
}

/** Keeps a text for this person; an empty one is forgotten. */
export function writePrivate(userId: string, text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(NAME);
    else sessionStorage.setItem(NAME, `${userId} ${text}`);
  } catch {
    // storage is switched off or full
  }
}

/** Forgets what anybody has kept. */
export function forgetPrivate(): void {
  writePrivate("", "");
}
