/** Texts of what was changed of an object. */
export const historyTexts = {
  title: "What changed",
  when: "Time",
  who: "Who",
  what: "What",
  changes: "Changes",
  empty: "Nothing was changed yet",
  loading: "Loading the changes",
  failed: "The changes could not be loaded.",
  stale: "The changes could not be read again; what you see is from before.",
  retry: "Try again",
  from: "{before} → {after}",
} as const;
