/** Texts of what was changed of an object. */
export const historyTexts = {
  title: "Activity",
  when: "Time",
  who: "Who",
  what: "What",
  changes: "Changes",
  empty: "No changes yet",
  field: "Field",
  before: "Before",
  after: "After",
  secret: "changed, not shown",
  from: "{before} → {after}",
  replicas: "Replica history",
  replica: "Replica",
  all: "all",
} as const;
