/**
 * Keeps the API key that a person has pasted into the playground: in the session storage of this tab, with the id of the person,
 * until sign-out. A browser without storage keeps nothing.
 */
const NAME = "gateway-private";

/** This person's key; empty if there is none. Another person's key is removed. */
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

/** Replaces what is kept by this person's key; an empty key is not kept. */
export function writePrivate(userId: string, key: string): void {
  forgetPrivate();
  if (key === "") return;
  try {
    sessionStorage.setItem(NAME, `${userId} ${key}`);
  } catch {
    // storage is switched off or full
  }
}

/** Removes the key, of any person. */
export function forgetPrivate(): void {
  try {
    sessionStorage.removeItem(NAME);
  } catch {
    // storage is switched off
  }
}
