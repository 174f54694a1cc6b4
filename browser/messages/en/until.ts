/** Texts of the choice until when something holds. */
export const untilTexts = {
  "1h": "1 hour",
  "4h": "4 hours",
  "24h": "24 hours",
  "7d": "7 days",
  until: "Until a time",
  wrong: "Choose a time in the future.",
} as const;
