/** Texts of what was changed of an object. */
export const historyTexts = {
  title: "What changed",
  when: "Time",
  who: "Who",
  what: "What",
  changes: "Changes",
  empty: "Nothing was changed yet",
  failed: "The changes could not be loaded.",
  field: "Field",
  before: "Before",
  after: "After",
  secret: "changed, not shown",
  from: "{before} → {after}",
  replicas: "What happened to its replicas",
  replica: "Replica",
  all: "all",
} as const;
